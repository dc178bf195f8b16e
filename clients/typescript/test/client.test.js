// Against a service that runs: its address and key are in the environment (tests/clients/test_typescript.py).
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { Client, ServiceError } from "allais";

const { ALLAIS_ADDRESS: address, ALLAIS_KEY: key } = process.env;
const client = new Client(address, key);
const ROUTES = {
  policy: { type: "NPTS" },
  arms: ["A21", "A28"],
  preference: { gains: { type: "TverskyKahneman", eta: 0.61 } },
  rewards: { type: "Bounded", low: 0, high: 50 },
  seed: 1,
};
let made = 0;

/** A new experiment; its name. */
async function created(changes = {}) {
  made += 1;
  const name = `js-${process.pid}-${made}`;
  await client.call("POST", "/v1/experiments", { ...ROUTES, name, ...changes });
  return name;
}

/** A server whose answers are those of `handle`; `use` gets its address and the requests that came. */
async function answering(handle, use) {
  const calls = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    calls.push({ method: request.method, path: request.url, body, headers: request.headers });
    await handle(request, response, body, calls.length);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${server.address().port}`, calls);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test("decide, reward, cancel, recommend and value", async () => {
  const name = await created();
  const first = await client.decide(name, { allowed: ["A28"] });
  assert.equal(first.arm, "A28");
  assert.equal(first.propensity, 1);
  assert.match(first.why, /\w/);
  assert.deepEqual(await client.reward(name, first, 7), await client.reward(name, first.choice, 7));
  assert.equal((await client.cancel(name, await client.decide(name))).state, "cancelled");
  assert.equal((await client.recommend(name, "alice")).arm, "A28");
  const { arms, best } = await client.value(name);
  assert.deepEqual(arms.map((arm) => [arm.name, arm.outcomes]), [["A21", 0], ["A28", 1]]);
  assert.ok(["A21", "A28"].includes(best));
  assert.deepEqual(await client.decide(name, { key: "mine" }), await client.decide(name, { key: "mine" }));
  assert.equal((await client.reward(name, "mine", 3)).outcome, 3);
});

test("many calls in one, each with its own error", async () => {
  const name = await created();
  const [first, wrong, last] = await client.decideEach(name, [{ key: "one" }, { allowed: ["B9"] }, {}]);
  assert.equal((await client.decide(name, { key: "one" })).choice, first.choice);
  assert.ok(wrong instanceof ServiceError);
  assert.equal(wrong.status, 422);
  const told = await client.rewardEach(name, [["one", 7], [last, 8], [99, 1]]);
  assert.deepEqual(told.map((one) => (one instanceof ServiceError ? one.status : one.outcome)), [7, 8, 404]);
});

test("a test with shares has a verdict", async () => {
  const name = await created({ test: { shares: { A21: 1, A28: 1 } }, policy: { type: "NPTS" } });
  const choice = await client.decide(name, { person: "alice" });
  assert.equal((await client.decide(name, { person: "alice" })).arm, choice.arm);
  const { summary, decided, verdicts } = await client.verdict(name);
  assert.match(summary, /No verdict yet/);
  assert.equal(decided, false);
  assert.deepEqual(verdicts, []);
});

test("change, erase, export and delete", async () => {
  const name = await created();
  const wide = { type: "Bounded", low: 0, high: 99 };
  assert.deepEqual((await client.change(name, { rewards: wide })).policy.rewards, wide);
  await client.decide(name, { person: "ann/ü" });
  await client.erase("ann/ü");
  assert.match(await client.call("GET", `/v1/experiments/${name}/export?format=csv`), /^number,arm,/);
  await assert.rejects(client.delete(name), { name: "ServiceError", status: 409, message: /archived before/ });
  await client.call("POST", `/v1/experiments/${name}/archive`);
  await client.delete(name);
  await assert.rejects(client.delete(name), { status: 404 });
});

test("each error is one sentence", async () => {
  await assert.rejects(client.decide("none"), { status: 404, message: /an experiment must exist; there is no 'none'/ });
  await assert.rejects(new Client(address, "alk_x_y").recommend("routes"), { status: 401, message: /a valid key/ });
  const away = new Client("http://127.0.0.1:1", "key", { tries: 2 });
  await assert.rejects(away.recommend("routes"), { status: 0, message: /does not answer .*Is the service running\?/ });
  assert.throws(() => new Client("127.0.0.1:8420", "key"), /a service has an address/);
  assert.throws(() => new Client(address, "key", { tries: 0 }), /tried once or more/);
  assert.throws(() => new Client(address, "key", { timeout: 0 }), /positive number of milliseconds/);
  await assert.rejects(client.reward("routes", 1, Number.NaN), /an outcome is a finite number; got NaN/);
  await assert.rejects(client.reward("routes", 1, "7"), /an outcome is a finite number; got 7/);
});

test("a call whose answer got lost counts once", async () => {
  const name = await created();
  const losing = async (request, response, body, number) => {
    const { authorization, "content-type": type } = request.headers;
    const options = { method: request.method, body, headers: { authorization, "content-type": type } };
    const answer = await fetch(address + request.url, options);
    if (number <= 2) return request.socket.destroy(); // after the service has done its work
    response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  };
  await answering(losing, async (way, calls) => {
    const choice = await new Client(way, key).decide(name);
    assert.equal(choice.choice, 1);
    assert.equal(calls.length, 3);
    assert.equal(new Set(calls.map((call) => JSON.parse(call.body).key)).size, 1);
  });
  assert.equal((await client.call("GET", `/v1/experiments/${name}`)).open_decisions, 1);
});

test("a service that is busy is asked again, after the time that it names", async () => {
  const busy = (_, response, __, number) =>
    number < 3
      ? response.writeHead(503, { "retry-after": "0" }).end('{"error": "wait"}')
      : response.writeHead(200, { "content-type": "application/json" }).end('{"arm": "A28"}');
  await answering(busy, async (where, calls) => {
    assert.equal((await new Client(where, key).recommend("routes")).arm, "A28");
    assert.equal(calls.length, 3);
    await assert.rejects(new Client(`${where}/`, key, { tries: 1, fetch: async () => new Response('{"error": "wait"}', { status: 503 }) })
      .recommend("routes"), { status: 503, message: "wait" });
  });
});

test("a service that does not answer in time is given up, and so is a call that is aborted", async () => {
  await answering(() => {}, async (where, calls) => {
    const patient = new Client(where, key, { timeout: 100, tries: 2 });
    await assert.rejects(patient.recommend("routes"), { status: 0, message: /no answer within 100 ms/ });
    assert.equal(calls.length, 2);
    const ending = new AbortController();
    const call = new Client(where, key, { signal: ending.signal }).recommend("routes");
    setTimeout(() => ending.abort(new Error("the page was left")), 50);
    await assert.rejects(call, /the page was left/);
    assert.equal(calls.length, 3);
  });
});

test("redirects are refused, but for one from http to https on the same host", async () => {
  for (const [status, where] of [
    [301, "https://127.0.0.1:1PATH"],
    [303, "/elsewhere"],
    [308, "http://127.0.0.1:1PATH"],
    [308, "https://elsewhere.test:1PATH"],
    [308, "https://127.0.0.1:1/elsewhere"],
    [307, ""],
  ]) {
    const sending = (request, response) =>
      response.writeHead(status, { location: where.replace("PATH", request.url) }).end();
    await answering(sending, async (here, calls) => {
      await assert.rejects(new Client(here, key).decide("routes"), { status, message: /the answer was .*nothing was done/ });
      assert.equal(calls.length, 1);
    });
  }
  const seen = [];
  const proxied = async (target, options) => {
    seen.push(target);
    if (target.startsWith("http:")) {
      return new Response(null, { status: 308, headers: { location: target.replace("http://a.test", "https://a.test:8443") } });
    }
    return Response.json({ arm: options.method });
  };
  const moved = new Client("http://a.test/allais/", key, { fetch: proxied });
  assert.equal((await moved.recommend("to work", "joe")).arm, "GET");
  assert.equal((await moved.recommend("to work", "joe")).arm, "GET");
  assert.deepEqual(seen, [
    "http://a.test/allais/v1/experiments/to%20work/recommend?person=joe",
    "https://a.test:8443/allais/v1/experiments/to%20work/recommend?person=joe",
    "https://a.test:8443/allais/v1/experiments/to%20work/recommend?person=joe",
  ]);
});

test("an answer that is not the service's is no success", async () => {
  for (const [type, body] of [
    ["application/json", "{}"], ["application/json", "[]"], ["application/json", '"yes"'], ["text/html", ""],
    ["text/html", "<h1>Welcome</h1>"], ["application/json", "{"], ["text/csv", "a,b"],
  ]) {
    await answering((_, response) => response.writeHead(200, { "content-type": type }).end(body), async (where) => {
      const fooled = new Client(where, key);
      for (const call of [() => fooled.decide("routes"), () => fooled.reward("routes", 1, 7), () => fooled.value("routes")]) {
        await assert.rejects(call(), { name: "ServiceError", message: /an answer must .*Is that the service's address\?/ });
      }
    });
  }
  for (const body of ["[]", "<h1>no</h1>", '{"error": 7}', ""]) {
    await answering((_, response) => response.writeHead(418).end(body), async (where) => {
      await assert.rejects(new Client(where, key).decide("routes"), { status: 418, message: /answered 418 without a reason/ });
    });
  }
});
