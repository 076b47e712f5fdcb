/** Errors that an app's developer must see. None holds an answer. */

export class HearsayError extends Error {
  override name = "HearsayError";
}

/** The registry has no question of that name. */
export class UnknownMetricError extends HearsayError {
  override name = "UnknownMetricError";
}

/** The answer is none that the question allows. */
export class OutsideDomainError extends HearsayError {
  override name = "OutsideDomainError";
}

/** A body is not exactly what the wire allows. */
export class MalformedError extends HearsayError {
  override name = "MalformedError";

  constructor(
    readonly code: string,
    readonly place: string,
  ) {
    super(code);
  }
}
