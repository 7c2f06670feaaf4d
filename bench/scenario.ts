/** What a scenario is given. */
export interface ScenarioSetting {
  /** Address of the benchmark's own server. */
  readonly url: string;
  /** 1 for a full run, less for a quick one. */
  readonly scale: number;
}

/** One measurement; figures by name. */
export interface Scenario {
  readonly name: string;
  run(setting: ScenarioSetting): Promise<Readonly<Record<string, number>>>;
}
