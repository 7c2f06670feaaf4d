import { Client } from 'pg';
import { expect, it } from 'vitest';
import { PostgresServer } from '../../bench/servers/postgres-server.js';

it('stops the benchmark’s server and starts it again with its data, settings and address', async () => {
  const server = await PostgresServer.start({ max_connections: '37', shared_buffers: '16MB' });
  try {
    const url = await server.createDatabase('outage');
    const { pid } = server;
    await server.shutDown();
    await expect(new Client({ connectionString: url }).connect()).rejects.toThrow('ECONNREFUSED');
    await server.startAgain();
    expect(server.pid).not.toBe(pid);
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query(`select current_setting('max_connections') as most`);
    await client.end();
    expect(rows).toEqual([{ most: '37' }]);
  } finally {
    await server.stop();
  }
});
