/**
 * Experiments as feature flags: providers for the SDKs of OpenFeature, on a server and in a browser.
 *
 * A flag is an experiment of the same name, its variants are the arms, and the targeting key is the person. What a
 * decision brought is told by `client.track(flag, context, { value })`.
 *
 * @module
 */

import { ServiceError } from "./index.js";

const MOST = 10_000; // decisions that are remembered until their outcome is tracked

/** @typedef {import("./index.js").Client} Client */
/** @typedef {import("./index.js").Decision} Decision */
/** @typedef {import("@openfeature/core").EvaluationContext} EvaluationContext */
/** @typedef {import("@openfeature/core").JsonValue} JsonValue */
/** @typedef {import("@openfeature/core").TrackingEventDetails} TrackingEventDetails */
/** @typedef {import("@openfeature/core").ErrorCode} ErrorCode */

/**
 * @template T
 * @typedef {import("@openfeature/core").ResolutionDetails<T>} ResolutionDetails
 */

/**
 * How experiments become flags; all of it may be left out.
 *
 * @typedef {object} Settings
 * @property {Record<string, Record<string, JsonValue>>} [values] By flag, the value that each arm stands for. Without
 *   it an arm is its own name: a string as it is, a number if it reads as one, and a boolean if it is `on`, `off`,
 *   `true` or `false`.
 * @property {readonly string[]} [features] The attributes of the evaluation context that are sent as features; no
 *   others leave the process, but for the targeting key.
 * @property {Record<string, string>} [outcomes] By the name of a tracking event, the flag whose outcome it is; without
 *   it the two have one name.
 * @property {number} [keep] Milliseconds for which a person keeps a decision that has no outcome yet; without it every
 *   evaluation is a decision of its own.
 * @property {(error: Error) => void} [onError] Gets what went wrong while an outcome was told.
 */

/** What both providers share: decisions by flag and person, and outcomes. */
class Experiments {
  /** @type {Client} */ #client;
  /** @type {Settings} */ #settings;
  /** @type {Map<string, { decision: Decision, at: number }>} */ #last = new Map();
  /** @type {Set<Promise<void>>} */ #telling = new Set();

  /**
   * @param {Client} client
   * @param {Settings} settings
   */
  constructor(client, settings) {
    this.#client = client;
    this.#settings = settings;
  }

  /**
   * The decision that a person has, or a new one.
   *
   * @param {string} flag
   * @param {EvaluationContext} context
   * @returns {Promise<{ decision: Decision, reason: "SPLIT" | "CACHED" }>}
   */
  async decide(flag, context) {
    const person = context.targetingKey || undefined;
    const place = placeOf(flag, person);
    const known = this.#last.get(place);
    if (person !== undefined && known !== undefined && Date.now() - known.at < (this.#settings.keep ?? 0)) {
      return { decision: known.decision, reason: "CACHED" };
    }
    const features = this.#features(context);
    const decision = await this.#client.decide(flag, { person, ...(features && { context: features }) });
    this.#last.delete(place); // so that the newest is the last
    this.#last.set(place, { decision, at: Date.now() });
    if (this.#last.size > MOST) this.#last.delete(/** @type {string} */ (this.#last.keys().next().value));
    return { decision, reason: "SPLIT" };
  }

  /**
   * What a decision answers to an evaluation: the value of its arm, if it has the type that was asked for.
   *
   * @template {JsonValue} T
   * @param {string} flag
   * @param {T} fallback
   * @param {string} type
   * @param {{ decision: Decision, reason: string }} made
   * @returns {ResolutionDetails<T>}
   */
  resolved(flag, fallback, type, { decision, reason }) {
    const arm = String(decision.arm);
    const values = this.#settings.values?.[flag];
    const value = values === undefined ? readAs(type, arm) : values[arm];
    if (typeof value !== type || value === null) {
      const rule = values === undefined ? "Give its value in `values`." : "Repair it in `values`.";
      const errorMessage = `an arm must stand for a ${type} here; "${arm}" of "${flag}" does not. ${rule}`;
      return { value: fallback, reason: "ERROR", errorCode: /** @type {ErrorCode} */ ("TYPE_MISMATCH"), errorMessage };
    }
    const { choice, propensity, why } = decision;
    const flagMetadata = { choice, why, ...(propensity !== null && { propensity }) };
    return { value: /** @type {T} */ (value), variant: arm, reason, flagMetadata };
  }

  /**
   * Cancel a decision that nobody acts on.
   *
   * @param {string} flag
   * @param {EvaluationContext} context
   * @param {{ decision: Decision, reason: string }} made
   */
  async giveUp(flag, context, { decision, reason }) {
    if (reason !== "SPLIT") return; // others have it, too
    this.#last.delete(placeOf(flag, context.targetingKey || undefined));
    await this.#client.cancel(flag, decision);
  }

  /**
   * Tell an outcome, after `track` has returned.
   *
   * @param {string} event
   * @param {EvaluationContext} context
   * @param {TrackingEventDetails} details
   */
  track(event, context, details) {
    const flag = this.#settings.outcomes?.[event] ?? event;
    const place = placeOf(flag, context.targetingKey || undefined);
    const choice = typeof details.choice === "number" ? details.choice : this.#last.get(place)?.decision.choice;
    const told = this.#tell(flag, choice, details.value).then(
      () => {
        if (this.#last.get(place)?.decision.choice === choice) this.#last.delete(place);
      },
      (error) => (this.#settings.onError ?? console.error)(error),
    );
    this.#telling.add(told);
    void told.finally(() => this.#telling.delete(told));
  }

  /** Wait until all outcomes that were tracked are told. */
  async flush() {
    await Promise.all(this.#telling);
  }

  /**
   * @param {string} flag
   * @param {number | undefined} choice
   * @param {number | undefined} outcome
   */
  async #tell(flag, choice, outcome) {
    if (choice === undefined) {
      throw new Error(
        `an outcome belongs to a decision; none of "${flag}" is known for this targeting key. Evaluate the flag first, ` +
          "or give `choice` from its metadata.",
      );
    }
    if (outcome === undefined) throw new Error(`an outcome of "${flag}" is a number; got none. Give \`value\`.`);
    await this.#client.reward(flag, choice, outcome);
  }

  /** @param {EvaluationContext} context */
  #features(context) {
    const names = (this.#settings.features ?? []).filter((name) => context[name] !== undefined);
    return names.length ? Object.fromEntries(names.map((name) => [name, context[name]])) : undefined;
  }
}

/** A provider for `@openfeature/server-sdk`: an evaluation asks the service. */
export class AllaisProvider {
  metadata = { name: "allais" };
  runsOn = /** @type {"server"} */ ("server");
  #experiments;

  /**
   * @param {Client} client Calls the service.
   * @param {Settings} [settings] How experiments become flags.
   */
  constructor(client, settings = {}) {
    this.#experiments = new Experiments(client, settings);
  }

  /** @param {string} flag @param {boolean} fallback @param {EvaluationContext} context */
  resolveBooleanEvaluation(flag, fallback, context) {
    return this.#resolve(flag, fallback, context, "boolean");
  }

  /** @param {string} flag @param {string} fallback @param {EvaluationContext} context */
  resolveStringEvaluation(flag, fallback, context) {
    return this.#resolve(flag, fallback, context, "string");
  }

  /** @param {string} flag @param {number} fallback @param {EvaluationContext} context */
  resolveNumberEvaluation(flag, fallback, context) {
    return this.#resolve(flag, fallback, context, "number");
  }

  /** @template {JsonValue} T @param {string} flag @param {T} fallback @param {EvaluationContext} context */
  resolveObjectEvaluation(flag, fallback, context) {
    return this.#resolve(flag, fallback, context, "object");
  }

  /** @param {string} event @param {EvaluationContext} context @param {TrackingEventDetails} details */
  track(event, context, details) {
    this.#experiments.track(event, context, details);
  }

  /** Wait until all outcomes that were tracked are told. */
  flush() {
    return this.#experiments.flush();
  }

  async onClose() {
    await this.flush();
  }

  /**
   * @template {JsonValue} T
   * @param {string} flag
   * @param {T} fallback
   * @param {EvaluationContext} context
   * @param {string} type
   * @returns {Promise<ResolutionDetails<T>>}
   */
  async #resolve(flag, fallback, context, type) {
    try {
      const made = await this.#experiments.decide(flag, context);
      const details = this.#experiments.resolved(flag, fallback, type, made);
      if (details.errorCode !== undefined) await this.#experiments.giveUp(flag, context, made);
      return details;
    } catch (error) {
      return failed(fallback, error);
    }
  }
}

/**
 * A provider for `@openfeature/web-sdk`, where evaluations do not wait: it decides about the flags that it is given when
 * the context is set, and again when the person or a feature changes.
 */
export class AllaisWebProvider {
  metadata = { name: "allais" };
  runsOn = /** @type {"client"} */ ("client");
  #experiments;
  #flags;
  #features;
  /** @type {Map<string, { decision: Decision, reason: string } | { error: unknown }>} */ #made = new Map();

  /**
   * @param {Client} client Calls the service.
   * @param {Settings & { flags: readonly string[] }} settings The flags that the page evaluates, and how experiments
   *   become flags.
   */
  constructor(client, settings) {
    this.#experiments = new Experiments(client, settings);
    this.#flags = settings.flags;
    this.#features = settings.features ?? [];
  }

  /** @param {EvaluationContext} [context] */
  async initialize(context = {}) {
    /** @type {Map<string, { decision: Decision, reason: string } | { error: unknown }>} */
    const made = new Map();
    await Promise.all(
      this.#flags.map(async (flag) => {
        made.set(flag, await this.#experiments.decide(flag, context).catch((error) => ({ error })));
      }),
    );
    this.#made = made;
  }

  /** @param {EvaluationContext} before @param {EvaluationContext} now */
  async onContextChange(before, now) {
    if (["targetingKey", ...this.#features].some((name) => before[name] !== now[name])) await this.initialize(now);
  }

  /** @param {string} flag @param {boolean} fallback */
  resolveBooleanEvaluation(flag, fallback) {
    return this.#resolve(flag, fallback, "boolean");
  }

  /** @param {string} flag @param {string} fallback */
  resolveStringEvaluation(flag, fallback) {
    return this.#resolve(flag, fallback, "string");
  }

  /** @param {string} flag @param {number} fallback */
  resolveNumberEvaluation(flag, fallback) {
    return this.#resolve(flag, fallback, "number");
  }

  /** @template {JsonValue} T @param {string} flag @param {T} fallback */
  resolveObjectEvaluation(flag, fallback) {
    return this.#resolve(flag, fallback, "object");
  }

  /** @param {string} event @param {EvaluationContext} context @param {TrackingEventDetails} details */
  track(event, context, details) {
    this.#experiments.track(event, context, details);
  }

  /** Wait until all outcomes that were tracked are told. */
  flush() {
    return this.#experiments.flush();
  }

  async onClose() {
    await this.flush();
  }

  /**
   * @template {JsonValue} T
   * @param {string} flag
   * @param {T} fallback
   * @param {string} type
   * @returns {ResolutionDetails<T>}
   */
  #resolve(flag, fallback, type) {
    const made = this.#made.get(flag);
    if (made === undefined) {
      return failed(fallback, new ServiceError(`"${flag}" is not among the \`flags\` of the provider. Add it.`, 404));
    }
    return "error" in made ? failed(fallback, made.error) : this.#experiments.resolved(flag, fallback, type, made);
  }
}

/**
 * @param {string} flag
 * @param {string | undefined} person
 */
function placeOf(flag, person) {
  return JSON.stringify([flag, person ?? null]);
}

/**
 * An arm as a value of some type; undefined if it is none.
 *
 * @param {string} type
 * @param {string} arm
 * @returns {JsonValue | undefined}
 */
function readAs(type, arm) {
  if (type === "string") return arm;
  if (type === "number") return arm.trim() !== "" && Number.isFinite(Number(arm)) ? Number(arm) : undefined;
  if (type === "boolean") return { on: true, true: true, off: false, false: false }[arm];
  return undefined;
}

/**
 * The fallback, and why: an experiment that is paused or archived is a flag that is disabled.
 *
 * @template T
 * @param {T} fallback
 * @param {unknown} error
 * @returns {ResolutionDetails<T>}
 */
function failed(fallback, error) {
  const errorMessage = error instanceof Error ? error.message : String(error);
  const status = error instanceof ServiceError ? error.status : 0;
  if (status === 409) return { value: fallback, reason: "DISABLED", flagMetadata: { why: errorMessage } };
  const code = status === 404 ? "FLAG_NOT_FOUND" : status === 422 ? "INVALID_CONTEXT" : "GENERAL";
  return { value: fallback, reason: "ERROR", errorCode: /** @type {ErrorCode} */ (code), errorMessage };
}
