/** Errors for an app's developer. None contains an answer. */

export class HearsayError extends Error {
  override name = "HearsayError";
}

/** The registry has no metric with this name. */
export class UnknownMetricError extends HearsayError {
  override name = "UnknownMetricError";
}

/** The answer is outside the metric's domain. */
export class OutsideDomainError extends HearsayError {
  override name = "OutsideDomainError";
}

/** A body violates the wire format. */
export class MalformedError extends HearsayError {
  override name = "MalformedError";

  constructor(
    readonly code: string,
    readonly place: string,
  ) {
    super(code);
  }
}
