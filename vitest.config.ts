import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // One PostgreSQL and one compiled copy of the library for the whole run; one database per test file.
    globalSetup: ['test/support/server.ts'],
    // Own processes, so that a file with open handles or a changed environment harms no other.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    // A second, the default, is less than a busy machine may stall for.
    expect: { poll: { timeout: 15_000 } },
  },
});
