// For the image of the sample application: makes package.json ask for the packages that it needs at run time, at the versions
// of package-lock.json, and for no others; `npm prune` removes the rest. Changes package.json, so not for a checkout.
import { readFileSync, writeFileSync } from 'node:fs';

const needed = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  '@nestjs/schedule',
  'cron',
  'pg',
  'reflect-metadata',
  'rxjs',
];

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const dependencies = Object.fromEntries(
  needed.map((name) => [name, packages[`node_modules/${name}`].version]),
);
const { name, version, license, type, engines } = manifest;
writeFileSync(
  'package.json',
  `${JSON.stringify({ name, version, private: true, license, type, engines, dependencies }, undefined, 2)}\n`,
);
