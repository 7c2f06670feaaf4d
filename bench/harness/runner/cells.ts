/** What a phase does to the system, in the harness's words. */
export type PhaseType =
  | 'warmup'
  | 'clean'
  | 'idle-in-tx'
  | 'high-load'
  | 'active-readers'
  | 'kill-worker'
  | 'start-worker'
  | 'repeated-kill'
  | 'postgres-restart'
  | 'pg-backend-kill'
  | 'pool-exhaustion';

export interface Phase {
  readonly label: string;
  readonly type: PhaseType;
  readonly seconds: number;
}

/** One scenario by one system; chaos and pressure are judged, the mixed queue is only measured. */
export interface Cell {
  readonly name: string;
  readonly suite: 'chaos' | 'pressure' | 'mixed';
  /** What the phase under stress does. */
  readonly about: string;
  readonly replicas: number;
  /** Jobs per second and replica. */
  readonly rate: number;
  /** Handlers at once, per replica. */
  readonly workers: number;
  readonly queues: number;
  /** As in the harness's published run. */
  readonly phases: readonly Phase[];
  /** With --quick. */
  readonly quickPhases: readonly Phase[];
}

type Stress = readonly [label: string, type: PhaseType, seconds: number, quickSeconds: number];

const oneReplica = { replicas: 1, rate: 600, workers: 32, queues: 1 } as const;
const twoReplicas = { replicas: 2, rate: 300, workers: 32, queues: 1 } as const;
const pressed = { replicas: 1, rate: 800, workers: 32, queues: 1 } as const;

const quickBaselineSeconds = 7;
const quickRecoverySeconds = 9;

/** The cells of the sweep of 2026-05-09: five of chaos, four of pressure, and the one with several queues. */
export const cells: readonly Cell[] = [
  {
    name: 'postgres_restart',
    suite: 'chaos',
    about: 'the server is stopped for half of the phase',
    ...oneReplica,
    ...phasesOf(60, [['restart', 'postgres-restart', 60, 14]], 60),
  },
  {
    name: 'pg_backend_kill',
    suite: 'chaos',
    about: 'twice a second every connection that is busy is terminated',
    ...oneReplica,
    ...phasesOf(60, [['kills', 'pg-backend-kill', 60, 12]], 60),
  },
  {
    name: 'pool_exhaustion',
    suite: 'chaos',
    about: '300 of the server’s 400 connections are held idle',
    ...oneReplica,
    ...phasesOf(60, [['exhaustion', 'pool-exhaustion', 60, 12]], 60),
  },
  {
    name: 'crash_recovery',
    suite: 'chaos',
    about: 'one of two workers is killed, and started again after the phase',
    ...twoReplicas,
    ...phasesOf(
      60,
      [
        ['kill', 'kill-worker', 60, 8],
        ['restart', 'start-worker', 60, 8],
      ],
      60,
    ),
  },
  {
    name: 'repeated_kills',
    suite: 'chaos',
    about: 'one of two workers is killed and started again, over and over',
    ...twoReplicas,
    ...phasesOf(60, [['repeated', 'repeated-kill', 120, 15]], 60),
  },
  {
    name: 'idle_in_tx',
    suite: 'pressure',
    about: 'another session holds a transaction that has written',
    ...pressed,
    ...phasesOf(60, [['idle_1', 'idle-in-tx', 240, 12]], 180),
  },
  {
    name: 'sustained_high_load',
    suite: 'pressure',
    about: 'one and a half times the load',
    ...pressed,
    ...phasesOf(60, [['pressure_1', 'high-load', 240, 12]], 120),
  },
  {
    name: 'active_readers',
    suite: 'pressure',
    about: 'four sessions count the job table in one snapshot each',
    ...pressed,
    ...phasesOf(60, [['readers_1', 'active-readers', 240, 12]], 120),
  },
  {
    name: 'event_burst',
    suite: 'pressure',
    about: 'one and a half times a load of 1,200 jobs per second, with 64 handlers',
    ...pressed,
    rate: 1_200,
    workers: 64,
    ...phasesOf(60, [['pressure_1', 'high-load', 300, 12]], 240),
  },
  {
    name: 'mixed_queue',
    suite: 'mixed',
    about: 'four queues, filled in turn',
    ...pressed,
    workers: 64,
    queues: 4,
    ...phasesOf(60, [['mixed', 'clean', 240, 12]], 10),
  },
];

/** A warm-up, a baseline to compare with, the stress, and what follows it. */
function phasesOf(
  baselineSeconds: number,
  stress: readonly Stress[],
  recoverySeconds: number,
): Pick<Cell, 'phases' | 'quickPhases'> {
  const around = (
    warmup: number,
    baseline: number,
    recovery: number,
    secondsOf: (stress: Stress) => number,
  ): Phase[] => [
    { label: 'warmup', type: 'warmup', seconds: warmup },
    { label: 'baseline', type: 'clean', seconds: baseline },
    ...stress.map((one): Phase => ({ label: one[0], type: one[1], seconds: secondsOf(one) })),
    { label: 'recovery', type: 'clean', seconds: recovery },
  ];
  return {
    phases: around(30, baselineSeconds, recoverySeconds, (one) => one[2]),
    quickPhases: around(3, quickBaselineSeconds, quickRecoverySeconds, (one) => one[3]),
  };
}
