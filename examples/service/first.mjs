// node first.mjs, with the key that `allais serve` printed in ALLAIS_KEY
import { Client } from "allais";

const advisor = new Client(process.env.ALLAIS_ADDRESS ?? "http://127.0.0.1:8420", process.env.ALLAIS_KEY);
const choice = await advisor.decide("to-work", { person: "alice" });
console.log(`${choice.why}: take the ${choice.arm}`);
await advisor.reward("to-work", choice, 31.5);
