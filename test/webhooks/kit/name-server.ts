import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** What a name has. `alias` is a CNAME, whose addresses are answered with it. */
export interface NameRecord {
  readonly v4?: readonly string[];
  readonly v6?: readonly string[];
  readonly alias?: string;
}

/** Answers one question; undefined: no such name; `silence`: no answer at all. */
export type AnswerName = (name: string, type: 'A' | 'AAAA') => NameRecord | undefined | 'silence';

export interface NameServer {
  /** For `dnsServers`. */
  readonly address: string;
  /** Questions so far. */
  readonly asked: readonly string[];
}

const typeOfAlias = 5;

/** A name server on loopback that lives as long as the test. */
export async function startNameServer(answer: AnswerName): Promise<NameServer> {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (question: Buffer, from: RemoteInfo) => {
    const { name, type, end } = readQuestion(question);
    asked.push(`${type} ${name}`);
    const record = answer(name, type);
    if (record === 'silence') return;
    socket.send(writeAnswer(question.subarray(0, end), type, record), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => new Promise<void>((resolve) => void socket.close(() => resolve())));
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

function readQuestion(question: Buffer): {
  readonly name: string;
  readonly type: 'A' | 'AAAA';
  readonly end: number;
} {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = question.readUInt16BE(at + 1) === 1 ? 'A' : 'AAAA';
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 };
}

function writeAnswer(question: Buffer, type: 'A' | 'AAAA', record: NameRecord | undefined): Buffer {
  const answers: Buffer[] = [];
  // Names are pointers: to the question's at offset 12, and to the alias behind it.
  let owner: Buffer = Buffer.from([0xc0, 12]);
  if (record?.alias !== undefined) {
    const alias = writeName(record.alias);
    answers.push(resource(owner, typeOfAlias, alias));
    owner = alias;
  }
  const addresses = (type === 'A' ? record?.v4 : record?.v6) ?? [];
  for (const address of addresses)
    answers.push(resource(owner, type === 'A' ? 1 : 28, addressBytes(address)));
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(record === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(answers.length, 6);
  // No authority and no additional records, which questions may have.
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, question.subarray(12), ...answers]);
}

function resource(owner: Buffer, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner, fixed, data]);
}

function writeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function addressBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [first, last] = [groups(head), groups(tail)];
  const all = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
