import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate and its key, in PEM. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

/** An authority that certifies the servers of a test. */
export interface Authority {
  readonly ca: string;
  /** @param names host names and IPv4 addresses */
  issue(names: readonly string[], options?: { readonly expired?: boolean }): Certified;
}

// Object identifiers, as DER writes them.
const ecdsaWithSha256 = Buffer.from('2a8648ce3d040302', 'hex');
const commonName = Buffer.from('550403', 'hex');
const subjectAltName = Buffer.from('551d11', 'hex');
const basicConstraints = Buffer.from('551d13', 'hex');

/** Makes an authority with node:crypto alone: not every computer has a program for it. */
export function createAuthority(name: string): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const issuer = nameOf(name);
  const ca = certificate({ subject: issuer, issuer, ...keys, signer: keys.privateKey, names: [], ca: true });
  return {
    ca,
    issue: (names, { expired = false } = {}) => {
      const server = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
      const subject = nameOf(names[0] ?? '');
      return {
        cert: certificate({ subject, issuer, ...server, signer: keys.privateKey, names, expired }),
        key: pemOf(server.privateKey),
      };
    },
  };
}

/** A certificate that nobody but its server vouches for. */
export function selfSigned(names: readonly string[]): Certified {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const subject = nameOf(names[0] ?? '');
  const cert = certificate({ subject, issuer: subject, ...keys, signer: keys.privateKey, names });
  return { cert, key: pemOf(keys.privateKey) };
}

interface Contents {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly names: readonly string[];
  readonly ca?: boolean;
  readonly expired?: boolean;
}

function certificate({ subject, issuer, publicKey, signer, names, ca, expired }: Contents): string {
  const algorithm = sequence(der(0x06, ecdsaWithSha256));
  const extensions = [
    ...(ca ? [extension(basicConstraints, sequence(der(0x01, Buffer.from([0xff]))))] : []),
    ...(names.length > 0 ? [extension(subjectAltName, sequence(...names.map(alternativeName)))] : []),
  ];
  const contents = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    issuer,
    sequence(time(-2), time(expired ? -1 : 1)),
    subject,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(...extensions)),
  );
  const whole = sequence(contents, algorithm, bits(sign('sha256', contents, signer)));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

function nameOf(text: string): Buffer {
  return sequence(der(0x31, sequence(der(0x06, commonName), der(0x0c, Buffer.from(text)))));
}

function alternativeName(name: string): Buffer {
  return isIP(name) === 4
    ? der(0x87, Buffer.from(name.split('.').map(Number)))
    : der(0x82, Buffer.from(name));
}

function extension(id: Buffer, value: Buffer): Buffer {
  return sequence(der(0x06, id), der(0x04, value));
}

function time(days: number): Buffer {
  const text = new Date(Date.now() + days * 86_400_000).toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(text));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function bits(content: Buffer): Buffer {
  return der(0x03, Buffer.concat([Buffer.from([0]), content]));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, length]), content]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content]);
}

function pemOf(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
}
