import {
  adopt,
  planAdoption,
  type AdoptionPlan,
  type AdoptionRequest,
} from '../../storage/postgres/adoption/adopt.js';
import { describeBytes } from '../../storage/postgres/adoption/durations.js';
import type { Finding } from '../../storage/postgres/adoption/finding.js';
import type { SchemaSession } from '../../storage/postgres/migration/schema-session.js';
import { TarefaError } from '../../errors.js';
import { AddressPolicy } from '../../webhooks/address-policy.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { flagOption, textOption } from '../option-values.js';
import type { Output } from '../output/output.js';
import {
  onlyPostgres,
  printSteps,
  queueNames,
  refuseWithoutRights,
  stepLines,
  stepReports,
  withSchemaSession,
  type StepReport,
} from './schema-work.js';
import { readSubscriptions } from './subscription-findings.js';

/** `tarefa adopt`. */
export const adoptCommand: Command = {
  name: 'adopt',
  summary: 'takes over a table of nsj-queue-lib, with its rows and producers',
  usage: '<table> [--yes]',
  description:
    'First reports what it finds and what will happen to it: duplicate attempts, payloads above the limit, attempts of killed ' +
    'workers, subscriptions that webhooks refuse, how long which locks are held. Only with --yes does it change anything: columns ' +
    'are added, indexes built concurrently, and the trigger replaced by one on the same channel. No row is deleted, producers ' +
    'keep inserting, and what you have added stays. If it was interrupted, run the command again to continue.\n\n' +
    'Times without zone, as old versions stored them, become timestamptz: --time-zone says which zone they are in. With UTC no ' +
    'row is rewritten; with another zone all are, under an exclusive lock.',
  options: {
    yes: { type: 'boolean', description: 'adopts the table, instead of only reporting' },
    'time-zone': {
      type: 'string',
      value: '<zone>',
      description: 'the zone of times without zone: UTC, America/Sao_Paulo …',
    },
    'give-back': {
      type: 'boolean',
      description: 'attempts that are processando but locked by nobody become pendente and run again',
    },
    'drop-old-indexes': {
      type: 'boolean',
      description: 'drops the four indexes of nsj-queue-lib, also of a table that is already adopted',
    },
    webhooks: { type: 'boolean', description: 'also creates the table for webhooks' },
  },
  examples: [
    'tarefa adopt public.fila',
    'tarefa adopt public.fila --time-zone America/Sao_Paulo --yes',
    'tarefa adopt public.fila --drop-old-indexes --yes',
  ],
  implied: ([table]) => (table === undefined ? {} : { table }),
  run,
};

const notOnMysql =
  'only tables of nsj-queue-lib in PostgreSQL can be adopted: on MySQL and MariaDB create a new queue with `tarefa migrate`, and copy ' +
  'the rows as docs/guides/from-nsj-queue-lib.md describes';

async function run(call: CommandCall): Promise<ExitCode> {
  const { positionals, options, output, env } = call;
  if (positionals[0] === undefined) throw new UsageError('no table given: pass its name');
  const database = onlyPostgres(await call.database(), notOnMysql);
  const request: AdoptionRequest = {
    names: queueNames(database.options, flagOption(options, 'webhooks')),
    channelIsGiven: (textOption(options, 'queue') ?? env['QUEUE_NAME']?.trim() ?? '') !== '',
    maxPayloadBytes: database.options.maxPayloadBytes,
    timeZone: textOption(options, 'time-zone'),
    dropOldIndexes: flagOption(options, 'drop-old-indexes'),
    giveBack: flagOption(options, 'give-back'),
  };
  return withSchemaSession<ExitCode>(call, database, async (session) => {
    if (!flagOption(options, 'yes')) {
      const plan = await planAdoption(session, request);
      const findings = await allFindings(session, plan, database.options.webhooks?.allowedAddresses);
      sayWhatThereIs(output, plan, findings);
      printSteps(output, plan.steps);
      output.json(reportOf(plan, findings, stepReports(plan.steps), false));
      output.line(closingLine(plan, findings));
      return 0;
    }
    let reports: StepReport[] = [];
    let findings: readonly Finding[] = [];
    const plan = await adopt(session, request, {
      onPlan: async (planned) => {
        findings = await allFindings(session, planned, database.options.webhooks?.allowedAddresses);
        sayWhatThereIs(output, planned, findings);
        refuseObstacles(planned, findings);
        if (planned.steps.length > 0) await refuseWithoutRights(session, planned.table.survey.tables);
        reports = stepReports(planned.steps);
      },
      onEnd: (...step) => stepLines(output, reports).onEnd?.(...step),
    });
    const { qualifiedName } = plan.table.survey.tables;
    output.line(
      plan.isAdopted
        ? `${qualifiedName} was already adopted`
        : `${qualifiedName} is now a queue of this library`,
    );
    output.json(reportOf(plan, findings, reports, true));
    return 0;
  });
}

async function allFindings(
  session: SchemaSession,
  plan: AdoptionPlan,
  allowedAddresses: readonly string[] = [],
): Promise<readonly Finding[]> {
  const subscriptions = plan.isAdopted
    ? []
    : await readSubscriptions(session, plan.table.survey, new AddressPolicy(allowedAddresses));
  return [...plan.findings, ...subscriptions];
}

function sayWhatThereIs(output: Output, plan: AdoptionPlan, findings: readonly Finding[]): void {
  const { table, channel, statuses, isAdopted } = plan;
  const { tables, found } = table.survey;
  const rows = isAdopted ? found.rows : statuses.reduce((sum, { count }) => sum + count, 0);
  output.line(
    `${tables.qualifiedName}: ${isAdopted ? 'already adopted, about' : 'created by nsj-queue-lib,'} ${rows.toLocaleString('en-US')} rows, ` +
      `${describeBytes(table.totalBytes)} with its indexes, channel ${channel}`,
  );
  if (statuses.length > 0) output.line();
  output.table(
    ['status', 'rows'],
    statuses.map(({ status, count }) => [status ?? '(none)', count]),
  );
  for (const { weight, what, then, examples = [] } of findings) {
    output.line();
    output.line(`${marks[weight]}${what}.`);
    output.line(`  ${then}.`);
    if (examples.length > 0) output.line(`  Examples: ${examples.join('; ')}`);
  }
  output.line();
}

const marks = { obstacle: 'Obstacle: ', warning: 'Warning: ', note: '' } as const;

function closingLine({ steps }: AdoptionPlan, findings: readonly Finding[]): string {
  if (findings.some(({ weight }) => weight === 'obstacle')) {
    return 'Nothing was changed, and --yes will change nothing until the obstacles are removed.';
  }
  return steps.length === 0
    ? 'There is nothing to do.'
    : 'Nothing was changed. Run it again with --yes to adopt the table.';
}

/** What was found has been said before. */
function refuseObstacles(plan: AdoptionPlan, findings: readonly Finding[]): void {
  const obstacles = findings.filter(({ weight }) => weight === 'obstacle');
  if (obstacles.length === 0) return;
  throw new TarefaError(
    'SCHEMA_CONFLICT',
    `${plan.table.survey.tables.qualifiedName} was not adopted: ${obstacles.map(({ what, then }) => `${what}; ${then}`).join('. ')}. Nothing was changed`,
  );
}

function reportOf(
  { table, channel, isAdopted, statuses }: AdoptionPlan,
  findings: readonly Finding[],
  steps: readonly StepReport[],
  isDone: boolean,
): unknown {
  const { tables, found } = table.survey;
  return {
    table: tables.qualifiedName,
    channel,
    adopted: isDone || isAdopted,
    rows: found.rows,
    bytes: table.totalBytes,
    statuses,
    findings,
    steps,
  };
}
