/** The script of package.json that runs the tests below. */
export const jestScript = {
  name: 'test:queue',
  command: 'node --experimental-vm-modules node_modules/jest/bin/jest.js --config ./test/jest-queue.json',
};

export const jestConfigFile = 'test/jest-queue.json';

/**
 * A configuration of its own for tests that load this library, as `test/jest-e2e.json` is one: it is an ES module, which
 * Jest loads from CommonJS tests on Node.js 24.9 or newer only, and other tests may count on being CommonJS.
 */
export function jestConfig(sourceRoot: string): string {
  const tsconfig = {
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2023',
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    esModuleInterop: true,
    isolatedModules: true,
    strict: true,
    types: ['jest', 'node'],
  };
  const config = {
    moduleFileExtensions: ['js', 'json', 'ts'],
    rootDir: `../${sourceRoot}`,
    testRegex: String.raw`.*\.queue-spec\.ts$`,
    testEnvironment: 'node',
    extensionsToTreatAsEsm: ['.ts'],
    moduleNameMapper: { [String.raw`^(\.{1,2}/.*)\.js$`]: '$1' },
    transform: { [String.raw`^.+\.ts$`]: ['ts-jest', { useESM: true, tsconfig }] },
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
