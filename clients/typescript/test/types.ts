// Compiled, never run: what a program in TypeScript may write, by the types that are packed.
import type { Provider } from "@openfeature/server-sdk";
import type { Provider as WebProvider } from "@openfeature/web-sdk";
import { Client, ServiceError, type Decision, type Question } from "allais";
import { AllaisProvider, AllaisWebProvider } from "allais/openfeature";

const client = new Client(new URL("https://advisor.example.org"), "alk_x_y", { timeout: 5_000, tries: 3 });
const question: Question = { person: "alice", allowed: ["A21", "A28"], context: { weather: "rain" } };

export async function typed(): Promise<number | null> {
  const choice: Decision = await client.decide("routes", question);
  await client.reward("routes", choice, 31.5);
  const each = await client.rewardEach("routes", [[choice, 1], ["key", 2], [3, 4]]);
  for (const one of each) if (one instanceof ServiceError) console.error(one.status, one.message);
  // @ts-expect-error: an outcome is a number
  await client.reward("routes", choice, "31.5");
  // @ts-expect-error: there is no such entry
  await client.decide("routes", { who: "alice" });
  const { arms, best } = await client.value("routes", "alice");
  const { verdicts, decided } = await client.verdict("routes");
  return decided ? verdicts[0].p_value : (arms.find((arm) => arm.name === best)?.value ?? null);
}

export const onServers: Provider = new AllaisProvider(client, { keep: 60_000, features: ["weather"] });
export const inBrowsers: WebProvider = new AllaisWebProvider(client, {
  flags: ["checkout"],
  values: { checkout: { short: { steps: 1 }, long: { steps: 3 } } },
});
