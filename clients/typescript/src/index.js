/**
 * A client of the service (`allais serve`) without dependencies, for Node and browsers.
 *
 * A call that got no answer is repeated under the same key, so that it counts once.
 *
 * @module
 */

const AGAIN = [429, 502, 503, 504]; // answers after which the same call may succeed
const KEPT = [307, 308]; // redirects that keep the method and the body
const LONGEST_PAUSE = 5_000; // milliseconds between two attempts

/**
 * What to do, and the number under which its outcome is told.
 *
 * @typedef {object} Decision
 * @property {number} choice The number under which the outcome is told.
 * @property {string | number} arm The arm to play; with features, the number of the row.
 * @property {number | null} propensity The probability with which this arm was chosen, where it is known.
 * @property {string} why Why it was chosen, in words.
 * @property {string | null} would In an apprentice's experiment, what the policy would have chosen.
 * @property {string[] | null} [unused] Features that were sent and that the experiment does not use.
 */

/**
 * What `decide` takes beside the experiment; all of it may be left out.
 *
 * @typedef {object} Question
 * @property {string} [person] Whose preference decides; the experiment's own without one.
 * @property {readonly string[]} [allowed] The arms to choose from; all without it.
 * @property {Record<string, unknown> | readonly (readonly number[])[]} [features] The features of each arm by name, or
 *   one row per arm.
 * @property {Record<string, unknown>} [context] Features that all arms share.
 * @property {string} [did] What the application did, in an apprentice's experiment.
 * @property {string} [key] Your own name for the decision, so that a repeated call gets the same answer.
 */

/**
 * What was told about a decision.
 *
 * @typedef {{ choice: number, state: string, outcome: number | null }} Told
 */

/**
 * The best arm so far.
 *
 * @typedef {object} Recommendation
 * @property {string | null} arm The arm; null if none keeps the guardrails.
 * @property {number | null} value Its value to the person.
 * @property {number | null} feels_like The sure outcome that is worth as much.
 * @property {number | null} low The low end of the value's interval.
 * @property {number | null} high The high end of the value's interval.
 * @property {boolean} settled Whether the policy has stopped.
 * @property {string | null} person Whose preference decided.
 */

/**
 * What one arm is worth.
 *
 * @typedef {{ name: string, in_play: boolean, outcomes: number, value: number | null, feels_like: number | null,
 *   mean: number | null, low: number | null, high: number | null, alarms: number, guardrails: string | null }} ArmValue
 */

/**
 * One arm beside the control, by one metric.
 *
 * @typedef {{ group: string, control: string, by: string, word: string, sentence: string,
 *   difference: (number | null)[], p_value: number, e_value: number, promise: string }} Comparison
 */

/**
 * How a client calls; all of it may be left out.
 *
 * @typedef {object} Settings
 * @property {number} [timeout] Milliseconds to wait for an answer: 10,000 without it.
 * @property {number} [tries] How often a call is tried: 6 without it; a server that restarts is back by the third or
 *   fourth.
 * @property {AbortSignal} [signal] Ends all calls of this client when it is aborted.
 * @property {typeof globalThis.fetch} [fetch] Sends the requests: the platform's own without it.
 */

/** A call that the service refused, or did not answer; `status` is 0 without an answer. */
export class ServiceError extends Error {
  /**
   * @param {string} sentence What is wrong, in the service's words.
   * @param {number} [status] The status of the answer.
   */
  constructor(sentence, status = 0) {
    super(sentence);
    this.name = "ServiceError";
    /** @type {number} */
    this.status = status;
  }
}

/** Calls one service with one key. */
export class Client {
  /** @type {URL} */ #address;
  /** @type {Record<string, string>} */ #headers;
  /** @type {{ timeout: number, tries: number, signal: AbortSignal | undefined, fetch: typeof globalThis.fetch }} */ #settings;

  /**
   * @param {string | URL} address Where the service is, such as `https://advisor.example.org`.
   * @param {string} key The API key.
   * @param {Settings} [settings] Timeout and tries.
   */
  constructor(address, key, { timeout = 10_000, tries = 6, signal, fetch = globalThis.fetch } = {}) {
    const found = parsed(String(address));
    if (found === null || !["http:", "https:"].includes(found.protocol)) {
      throw new TypeError(`a service has an address, as http://127.0.0.1:8420; got "${address}". Write it whole.`);
    }
    if (!(Number.isInteger(tries) && tries >= 1)) {
      throw new TypeError(`a call is tried once or more; got tries: ${tries}. Give a whole number.`);
    }
    if (!(timeout > 0)) {
      throw new TypeError(`a timeout is a positive number of milliseconds; got ${timeout}. Give one.`);
    }
    this.#address = found;
    this.#headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    this.#settings = { timeout, tries, signal, fetch };
  }

  /**
   * Which arm, for this person, now?
   *
   * @param {string} experiment The experiment's name.
   * @param {Question} [question] For whom, among which arms, under which key.
   * @returns {Promise<Decision>}
   */
  async decide(experiment, question = {}) {
    return decision(await this.call("POST", path(experiment, "decide"), keyed(question)));
  }

  /**
   * Tell what a choice brought: late, in any order, and repeated if need be; it counts once.
   *
   * @param {string} experiment The experiment's name.
   * @param {Decision | number | string} choice What `decide` answered, its number, or its `key`.
   * @param {number} outcome What it brought, in the experiment's unit.
   * @returns {Promise<Told>}
   */
  async reward(experiment, choice, outcome) {
    const body = { ...chosen(choice), outcome: number(outcome) };
    return required(await this.call("POST", path(experiment, "reward"), body), "choice", "state", "outcome");
  }

  /**
   * Give up a choice whose outcome will never be known.
   *
   * @param {string} experiment The experiment's name.
   * @param {Decision | number | string} choice What `decide` answered, its number, or its `key`.
   * @returns {Promise<Told>}
   */
  async cancel(experiment, choice) {
    return required(await this.call("POST", path(experiment, "cancel"), chosen(choice)), "choice", "state");
  }

  /**
   * Many decisions in one call, up to 500; each is answered alone, by a decision or by its error, which is not thrown.
   *
   * @param {string} experiment The experiment's name.
   * @param {readonly Question[]} questions What `decide` takes, for each decision.
   * @returns {Promise<(Decision | ServiceError)[]>}
   */
  async decideEach(experiment, questions) {
    const each = await this.#each(experiment, "decide", questions.map(keyed));
    return each.map((one) => (one instanceof ServiceError ? one : decision(one)));
  }

  /**
   * Many rewards in one call, up to 500; each is taken or refused alone.
   *
   * @param {string} experiment The experiment's name.
   * @param {readonly (readonly [Decision | number | string, number])[]} outcomes Pairs of a choice and its outcome.
   * @returns {Promise<(Told | ServiceError)[]>}
   */
  async rewardEach(experiment, outcomes) {
    const told = outcomes.map(([choice, outcome]) => ({ ...chosen(choice), outcome: number(outcome) }));
    return this.#each(experiment, "reward", told);
  }

  /**
   * The best arm so far, for a person or by the experiment's own preference.
   *
   * @param {string} experiment The experiment's name.
   * @param {string} [person] Whose preference decides.
   * @returns {Promise<Recommendation>}
   */
  async recommend(experiment, person) {
    return required(await this.call("GET", path(experiment, "recommend", person)), "arm");
  }

  /**
   * What every arm is worth to a person, and what the mean would choose.
   *
   * @param {string} experiment The experiment's name.
   * @param {string} [person] Whose preference decides.
   * @returns {Promise<{ person: string | null, arms: ArmValue[], best: string, best_mean: string }>}
   */
  async value(experiment, person) {
    return required(await this.call("GET", path(experiment, "value", person)), "arms");
  }

  /**
   * Which arms are better or worse than the control, by the outcomes so far: as often as one likes.
   *
   * @param {string} experiment The experiment's name.
   * @returns {Promise<{ summary: string, decided: boolean, verdicts: Comparison[], notes: string[],
   *   groups: Record<string, unknown>[], ended: Record<string, unknown> | null }>}
   */
  async verdict(experiment) {
    return required(await this.call("GET", path(experiment, "verdict")), "summary", "decided", "verdicts");
  }

  /**
   * Change a running experiment: wider `rewards`, another `preference`, `expires_after`, the `shares` of its `test`.
   *
   * @param {string} experiment The experiment's name.
   * @param {Record<string, unknown>} changes What is to change.
   * @returns {Promise<Record<string, any>>}
   */
  async change(experiment, changes) {
    return required(await this.call("PATCH", path(experiment), changes), "name", "state");
  }

  /**
   * Delete an archived experiment with all its decisions. This cannot be undone.
   *
   * @param {string} experiment The experiment's name.
   * @returns {Promise<void>}
   */
  async delete(experiment) {
    await this.call("DELETE", path(experiment));
  }

  /**
   * Erase a person: the preference, the interviews, and the name wherever it is kept.
   *
   * @param {string} person The person's name.
   * @returns {Promise<void>}
   */
  async erase(person) {
    await this.call("DELETE", `/v1/people/${encodeURIComponent(person)}`);
  }

  /**
   * Make any other call, such as `call("PUT", "/v1/people/alice", {...})`, and return its answer.
   *
   * @param {string} method The HTTP method.
   * @param {string} path The path, from `/v1` on.
   * @param {unknown} [body] What is sent as JSON; nothing without it.
   * @returns {Promise<any>}
   */
  async call(method, path, body) {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const { tries, signal } = this.#settings;
    let pause = 50;
    for (let left = tries - 1; ; left -= 1) {
      signal?.throwIfAborted();
      let wait = 0;
      try {
        const { status, after, answer } = await this.#once(method, path, sent);
        if (status >= 200 && status < 300) return answer;
        if (!AGAIN.includes(status) || left === 0) {
          const said = typeof answer === "object" && answer !== null ? answer.error : undefined;
          throw new ServiceError(typeof said === "string" ? said : strange(status), status);
        }
        wait = after;
      } catch (error) {
        if (error instanceof ServiceError || signal?.aborted) throw error;
        if (left === 0) {
          const said = reason(error);
          throw new ServiceError(`${this.#address.origin} does not answer (${said}). Is the service running?`);
        }
      }
      pause = Math.max(pause, wait);
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }

  /**
   * @param {string} experiment
   * @param {"decide" | "reward"} verb
   * @param {object[]} calls
   * @returns {Promise<any[]>}
   */
  async #each(experiment, verb, calls) {
    const found = required(await this.call("POST", path(experiment, `${verb}/batch`), { calls }), "answers");
    return found.answers.map((/** @type {any} */ one) =>
      one.status === 200 ? one.answer : new ServiceError(one.error, one.status),
    );
  }

  /**
   * Status, milliseconds to wait, and answer of one attempt.
   *
   * @param {string} method
   * @param {string} path
   * @param {string | undefined} body
   * @returns {Promise<{ status: number, after: number, answer: any }>}
   */
  async #once(method, path, body) {
    let got = await this.#sent(method, path, body);
    if (got.response.type === "opaqueredirect" || (got.response.status >= 300 && got.response.status < 400)) {
      this.#follow(got.response, path);
      got = await this.#sent(method, path, body);
    }
    const { response, text } = got;
    let answer;
    try {
      answer = text === "" ? {} : JSON.parse(text);
    } catch {
      const kind = (response.headers.get("Content-Type") ?? "text/plain").split(";")[0].trim();
      if (response.ok && ["application/json", "text/html", "text/plain"].includes(kind)) {
        throw new ServiceError(
          `an answer must be JSON; this one is ${kind}. Is that the service's address?`, response.status,
        );
      }
      answer = text; // an export
    }
    const wait = response.headers.get("Retry-After") ?? "";
    return { status: response.status, after: Math.min(/^\d+$/.test(wait) ? 1e3 * Number(wait) : 0, LONGEST_PAUSE), answer };
  }

  /**
   * Go from http to https on the same host, from now on; a key is sent nowhere else.
   *
   * @param {Response} response
   * @param {string} path
   */
  #follow(response, path) {
    const where = response.headers.get("Location") ?? "";
    const there = parsed(where);
    const old = this.#address;
    const same = there !== null && there.hostname === old.hostname && there.href === new URL(url(there, old, path)).href;
    if (!(same && KEPT.includes(response.status) && old.protocol === "http:" && there.protocol === "https:")) {
      const advice = there === null ? "Check its address" : `Write ${there.origin} as its address`;
      throw new ServiceError(
        "a call goes to the service itself, or from http to https on its host by 307 or 308; the answer was " +
          `${response.status} to "${where.slice(0, 200)}", and nothing was done. ${advice}.`,
        response.status,
      );
    }
    this.#address = new URL(old.pathname, there.origin);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {string | undefined} body
   * @returns {Promise<{ response: Response, text: string }>}
   */
  async #sent(method, path, body) {
    const { timeout, signal, fetch } = this.#settings;
    const ending = new AbortController();
    const stop = () => ending.abort(signal?.reason);
    const timer = setTimeout(() => ending.abort(new Error(`no answer within ${timeout} ms`)), timeout);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      const response = await fetch(url(this.#address, this.#address, path), {
        method, body, headers: this.#headers, redirect: "manual", signal: ending.signal, credentials: "omit",
        cache: "no-store",
      });
      return { response, text: await response.text() };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }
}

/**
 * @param {string} text
 * @returns {URL | null}
 */
function parsed(text) {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/**
 * The address of a call on a host, under the path that the service has.
 *
 * @param {URL} host
 * @param {URL} service
 * @param {string} path
 */
function url(host, service, path) {
  return host.origin + service.pathname.replace(/\/+$/, "") + path;
}

/**
 * @param {string} experiment
 * @param {string} [verb]
 * @param {string} [person]
 */
function path(experiment, verb, person) {
  const place = `/v1/experiments/${encodeURIComponent(experiment)}${verb === undefined ? "" : `/${verb}`}`;
  return person === undefined ? place : `${place}?person=${encodeURIComponent(person)}`;
}

/**
 * @param {Question} question
 * @returns {Question}
 */
function keyed(question) {
  return { ...question, key: question.key ?? newKey() };
}

function newKey() {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {Decision | number | string} choice
 * @returns {{ decision_key: string } | { choice: number }}
 */
function chosen(choice) {
  if (typeof choice === "string") return { decision_key: choice };
  return { choice: typeof choice === "number" ? choice : choice.choice };
}

/** @param {number} outcome */
function number(outcome) {
  if (typeof outcome !== "number" || !Number.isFinite(outcome)) {
    throw new TypeError(`an outcome is a finite number; got ${String(outcome)}. Convert it first.`);
  }
  return outcome;
}

/**
 * @param {any} answer
 * @returns {Decision}
 */
function decision(answer) {
  const { choice, arm, propensity, why, would, unused } = required(
    answer, "choice", "arm", "propensity", "why", "would",
  );
  return { choice, arm, propensity, why, would, unused: unused ?? null };
}

/**
 * An answer with the entries that the service's own have; one of something else in between is refused.
 *
 * @param {any} answer
 * @param {...string} names
 * @returns {any}
 */
function required(answer, ...names) {
  if (typeof answer !== "object" || answer === null || names.some((name) => !(name in answer))) {
    const said = (JSON.stringify(answer) ?? "nothing").slice(0, 100);
    throw new ServiceError(`an answer must have ${names.join(", ")}; got ${said}. Is that the service's address?`);
  }
  return answer;
}

/** @param {number} status */
function strange(status) {
  return `the service or a proxy before it answered ${status} without a reason. Check the address, and its log.`;
}

/** @param {unknown} error */
function reason(error) {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
