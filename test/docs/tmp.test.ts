import { expect, test } from 'vitest';
import { blocksIn } from './documents.js';
import { checkBlocks } from './typescript.js';
test('x', () => {
  const b = (text: string) => ({ place: 'x.md:0', language: 'ts', note: '', text });
  console.log(checkBlocks([...blocksIn('ts'), b('queue.nope();\nconst n: number = order.customer; await mailServer.send({});')]));
  console.log(checkBlocks(blocksIn('ts').filter((x) => x.note !== 'prelude')).length);
}, 60000);
