import { exercise } from './exercise.js';
import { usePostgres } from './open-postgres.js';

// What a role, a database or a server may set for every session, each as far from what is usual as can be.
exercise(
  usePostgres(
    {},
    {
      timezone: 'Pacific/Kiritimati',
      datestyle: 'German, DMY',
      intervalstyle: 'sql_standard',
      bytea_output: 'escape',
      extra_float_digits: '-10',
      standard_conforming_strings: 'off',
      escape_string_warning: 'off',
      backslash_quote: 'off',
      array_nulls: 'off',
      transform_null_equals: 'on',
      quote_all_identifiers: 'on',
      default_transaction_isolation: 'serializable',
      default_transaction_deferrable: 'on',
      'plpgsql.variable_conflict': 'use_variable',
      client_encoding: 'LATIN1',
      client_min_messages: 'debug1',
      plan_cache_mode: 'force_custom_plan',
      enable_indexonlyscan: 'off',
      enable_hashjoin: 'off',
      enable_nestloop: 'off',
      enable_partition_pruning: 'off',
      join_collapse_limit: '1',
      work_mem: '64kB',
      jit_above_cost: '0',
    },
  ),
);
