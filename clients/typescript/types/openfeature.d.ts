/**
 * Experiments as feature flags: providers for the SDKs of OpenFeature, on a server and in a browser.
 *
 * A flag is an experiment of the same name, its variants are the arms, and the targeting key is the person. What a
 * decision brought is told by `client.track(flag, context, { value })`.
 *
 * @module
 */
export type Client = import("./index.js").Client;
export type Decision = import("./index.js").Decision;
export type EvaluationContext = import("@openfeature/core").EvaluationContext;
export type JsonValue = import("@openfeature/core").JsonValue;
export type TrackingEventDetails = import("@openfeature/core").TrackingEventDetails;
export type ErrorCode = import("@openfeature/core").ErrorCode;
export type ResolutionDetails<T> = import("@openfeature/core").ResolutionDetails<T>;
export type Settings = {
    /**
     * By flag, the value that each arm stands for. Without
     * it an arm is its own name: a string as it is, a number if it reads as one, and a boolean if it is `on`, `off`,
     * `true` or `false`.
     */
    values?: Record<string, Record<string, JsonValue>>;
    /**
     * The attributes of the evaluation context that are sent as features; no
     * others leave the process, but for the targeting key.
     */
    features?: readonly string[];
    /**
     * By the name of a tracking event, the flag whose outcome it is; without
     * it the two have one name.
     */
    outcomes?: Record<string, string>;
    /**
     * Milliseconds for which a person keeps a decision that has no outcome yet; without it every
     * evaluation is a decision of its own.
     */
    keep?: number;
    /**
     * Gets what went wrong while an outcome was told.
     */
    onError?: (error: Error) => void;
};
/** A provider for `@openfeature/server-sdk`: an evaluation asks the service. */
export declare class AllaisProvider {
    #private;
    metadata: {
        name: string;
    };
    runsOn: "server";
    /**
     * @param {Client} client Calls the service.
     * @param {Settings} [settings] How experiments become flags.
     */
    constructor(client: Client, settings?: Settings);
    /** @param {string} flag @param {boolean} fallback @param {EvaluationContext} context */
    resolveBooleanEvaluation(flag: string, fallback: boolean, context: EvaluationContext): Promise<ResolutionDetails<boolean>>;
    /** @param {string} flag @param {string} fallback @param {EvaluationContext} context */
    resolveStringEvaluation(flag: string, fallback: string, context: EvaluationContext): Promise<ResolutionDetails<string>>;
    /** @param {string} flag @param {number} fallback @param {EvaluationContext} context */
    resolveNumberEvaluation(flag: string, fallback: number, context: EvaluationContext): Promise<ResolutionDetails<number>>;
    /** @template {JsonValue} T @param {string} flag @param {T} fallback @param {EvaluationContext} context */
    resolveObjectEvaluation<T extends JsonValue>(flag: string, fallback: T, context: EvaluationContext): Promise<ResolutionDetails<T>>;
    /** @param {string} event @param {EvaluationContext} context @param {TrackingEventDetails} details */
    track(event: string, context: EvaluationContext, details: TrackingEventDetails): void;
    /** Wait until all outcomes that were tracked are told. */
    flush(): Promise<void>;
    onClose(): Promise<void>;
}
/**
 * A provider for `@openfeature/web-sdk`, where evaluations do not wait: it decides about the flags that it is given when
 * the context is set, and again when the person or a feature changes.
 */
export declare class AllaisWebProvider {
    #private;
    metadata: {
        name: string;
    };
    runsOn: "client";
    /**
     * @param {Client} client Calls the service.
     * @param {Settings & { flags: readonly string[] }} settings The flags that the page evaluates, and how experiments
     *   become flags.
     */
    constructor(client: Client, settings: Settings & {
        flags: readonly string[];
    });
    /** @param {EvaluationContext} [context] */
    initialize(context?: EvaluationContext): Promise<void>;
    /** @param {EvaluationContext} before @param {EvaluationContext} now */
    onContextChange(before: EvaluationContext, now: EvaluationContext): Promise<void>;
    /** @param {string} flag @param {boolean} fallback */
    resolveBooleanEvaluation(flag: string, fallback: boolean): ResolutionDetails<boolean>;
    /** @param {string} flag @param {string} fallback */
    resolveStringEvaluation(flag: string, fallback: string): ResolutionDetails<string>;
    /** @param {string} flag @param {number} fallback */
    resolveNumberEvaluation(flag: string, fallback: number): ResolutionDetails<number>;
    /** @template {JsonValue} T @param {string} flag @param {T} fallback */
    resolveObjectEvaluation<T extends JsonValue>(flag: string, fallback: T): ResolutionDetails<T>;
    /** @param {string} event @param {EvaluationContext} context @param {TrackingEventDetails} details */
    track(event: string, context: EvaluationContext, details: TrackingEventDetails): void;
    /** Wait until all outcomes that were tracked are told. */
    flush(): Promise<void>;
    onClose(): Promise<void>;
}
