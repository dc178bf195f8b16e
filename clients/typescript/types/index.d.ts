/**
 * A client of the service (`allais serve`) without dependencies, for Node and browsers.
 *
 * A call that got no answer is repeated under the same key, so that it counts once.
 *
 * @module
 */
export type Decision = {
    /**
     * The number under which the outcome is told.
     */
    choice: number;
    /**
     * The arm to play; with features, the number of the row.
     */
    arm: string | number;
    /**
     * The probability with which this arm was chosen, where it is known.
     */
    propensity: number | null;
    /**
     * Why it was chosen, in words.
     */
    why: string;
    /**
     * In an apprentice's experiment, what the policy would have chosen.
     */
    would: string | null;
    /**
     * Features that were sent and that the experiment does not use.
     */
    unused?: string[] | null;
};
export type Question = {
    /**
     * Whose preference decides; the experiment's own without one.
     */
    person?: string;
    /**
     * The arms to choose from; all without it.
     */
    allowed?: readonly string[];
    /**
     * The features of each arm by name, or
     * one row per arm.
     */
    features?: Record<string, unknown> | readonly (readonly number[])[];
    /**
     * Features that all arms share.
     */
    context?: Record<string, unknown>;
    /**
     * What the application did, in an apprentice's experiment.
     */
    did?: string;
    /**
     * Your own name for the decision, so that a repeated call gets the same answer.
     */
    key?: string;
};
export type Told = {
    choice: number;
    state: string;
    outcome: number | null;
};
export type Recommendation = {
    /**
     * The arm; null if none keeps the guardrails.
     */
    arm: string | null;
    /**
     * Its value to the person.
     */
    value: number | null;
    /**
     * The sure outcome that is worth as much.
     */
    feels_like: number | null;
    /**
     * The low end of the value's interval.
     */
    low: number | null;
    /**
     * The high end of the value's interval.
     */
    high: number | null;
    /**
     * Whether the policy has stopped.
     */
    settled: boolean;
    /**
     * Whose preference decided.
     */
    person: string | null;
};
export type ArmValue = {
    name: string;
    in_play: boolean;
    outcomes: number;
    value: number | null;
    feels_like: number | null;
    mean: number | null;
    low: number | null;
    high: number | null;
    alarms: number;
    guardrails: string | null;
};
export type Comparison = {
    group: string;
    control: string;
    by: string;
    word: string;
    sentence: string;
    difference: (number | null)[];
    p_value: number;
    e_value: number;
    promise: string;
};
export type Settings = {
    /**
     * Milliseconds to wait for an answer: 10,000 without it.
     */
    timeout?: number;
    /**
     * How often a call is tried: 6 without it; a server that restarts is back by the third or
     * fourth.
     */
    tries?: number;
    /**
     * Ends all calls of this client when it is aborted.
     */
    signal?: AbortSignal;
    /**
     * Sends the requests: the platform's own without it.
     */
    fetch?: typeof globalThis.fetch;
};
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
export declare class ServiceError extends Error {
    /** @type {number} */
    status: number;
    /**
     * @param {string} sentence What is wrong, in the service's words.
     * @param {number} [status] The status of the answer.
     */
    constructor(sentence: string, status?: number);
}
/** Calls one service with one key. */
export declare class Client {
    #private;
    /**
     * @param {string | URL} address Where the service is, such as `https://advisor.example.org`.
     * @param {string} key The API key.
     * @param {Settings} [settings] Timeout and tries.
     */
    constructor(address: string | URL, key: string, { timeout, tries, signal, fetch }?: Settings);
    /**
     * Which arm, for this person, now?
     *
     * @param {string} experiment The experiment's name.
     * @param {Question} [question] For whom, among which arms, under which key.
     * @returns {Promise<Decision>}
     */
    decide(experiment: string, question?: Question): Promise<Decision>;
    /**
     * Tell what a choice brought: late, in any order, and repeated if need be; it counts once.
     *
     * @param {string} experiment The experiment's name.
     * @param {Decision | number | string} choice What `decide` answered, its number, or its `key`.
     * @param {number} outcome What it brought, in the experiment's unit.
     * @returns {Promise<Told>}
     */
    reward(experiment: string, choice: Decision | number | string, outcome: number): Promise<Told>;
    /**
     * Give up a choice whose outcome will never be known.
     *
     * @param {string} experiment The experiment's name.
     * @param {Decision | number | string} choice What `decide` answered, its number, or its `key`.
     * @returns {Promise<Told>}
     */
    cancel(experiment: string, choice: Decision | number | string): Promise<Told>;
    /**
     * Many decisions in one call, up to 500; each is answered alone, by a decision or by its error, which is not thrown.
     *
     * @param {string} experiment The experiment's name.
     * @param {readonly Question[]} questions What `decide` takes, for each decision.
     * @returns {Promise<(Decision | ServiceError)[]>}
     */
    decideEach(experiment: string, questions: readonly Question[]): Promise<(Decision | ServiceError)[]>;
    /**
     * Many rewards in one call, up to 500; each is taken or refused alone.
     *
     * @param {string} experiment The experiment's name.
     * @param {readonly (readonly [Decision | number | string, number])[]} outcomes Pairs of a choice and its outcome.
     * @returns {Promise<(Told | ServiceError)[]>}
     */
    rewardEach(experiment: string, outcomes: readonly (readonly [Decision | number | string, number])[]): Promise<(Told | ServiceError)[]>;
    /**
     * The best arm so far, for a person or by the experiment's own preference.
     *
     * @param {string} experiment The experiment's name.
     * @param {string} [person] Whose preference decides.
     * @returns {Promise<Recommendation>}
     */
    recommend(experiment: string, person?: string): Promise<Recommendation>;
    /**
     * What every arm is worth to a person, and what the mean would choose.
     *
     * @param {string} experiment The experiment's name.
     * @param {string} [person] Whose preference decides.
     * @returns {Promise<{ person: string | null, arms: ArmValue[], best: string, best_mean: string }>}
     */
    value(experiment: string, person?: string): Promise<{
        person: string | null;
        arms: ArmValue[];
        best: string;
        best_mean: string;
    }>;
    /**
     * Which arms are better or worse than the control, by the outcomes so far: as often as one likes.
     *
     * @param {string} experiment The experiment's name.
     * @returns {Promise<{ summary: string, decided: boolean, verdicts: Comparison[], notes: string[],
     *   groups: Record<string, unknown>[], ended: Record<string, unknown> | null }>}
     */
    verdict(experiment: string): Promise<{
        summary: string;
        decided: boolean;
        verdicts: Comparison[];
        notes: string[];
        groups: Record<string, unknown>[];
        ended: Record<string, unknown> | null;
    }>;
    /**
     * Change a running experiment: wider `rewards`, another `preference`, `expires_after`, the `shares` of its `test`.
     *
     * @param {string} experiment The experiment's name.
     * @param {Record<string, unknown>} changes What is to change.
     * @returns {Promise<Record<string, any>>}
     */
    change(experiment: string, changes: Record<string, unknown>): Promise<Record<string, any>>;
    /**
     * Delete an archived experiment with all its decisions. This cannot be undone.
     *
     * @param {string} experiment The experiment's name.
     * @returns {Promise<void>}
     */
    delete(experiment: string): Promise<void>;
    /**
     * Erase a person: the preference, the interviews, and the name wherever it is kept.
     *
     * @param {string} person The person's name.
     * @returns {Promise<void>}
     */
    erase(person: string): Promise<void>;
    /**
     * Make any other call, such as `call("PUT", "/v1/people/alice", {...})`, and return its answer.
     *
     * @param {string} method The HTTP method.
     * @param {string} path The path, from `/v1` on.
     * @param {unknown} [body] What is sent as JSON; nothing without it.
     * @returns {Promise<any>}
     */
    call(method: string, path: string, body?: unknown): Promise<any>;
}
