/** CairnError reports that a node rejected a request, or that no node answered it. */
export class CairnError extends Error {
  constructor(
    message,
    { code = "", status = 0, requestId = "", endpoint = "", retryAfter = 0, body = null, cause } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = this.constructor.name;
    Object.assign(this, { code, status, requestId, endpoint, retryAfter, body });
  }
}

/**
 * UnknownOutcomeError reports a write that may or may not have happened. To find out, repeat the call with its
 * idempotencyKey, which stores nothing twice; a write that has none must be read before it is repeated.
 */
export class UnknownOutcomeError extends CairnError {
  constructor(cause, idempotencyKey) {
    super(`the write may or may not have happened: ${cause?.message ?? cause}`, {
      ...cause,
      code: "unknown_outcome",
      cause,
    });
    this.idempotencyKey = idempotencyKey;
  }
}

/** refusal reads the error that a node answered with. */
export async function refusal(response, endpoint) {
  const text = await response.text().catch(() => ""); // a body that breaks off still has a status
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {} // a proxy's page
  return rejection(response, endpoint, body);
}

/** rejection makes the error of an answer and its body. */
export function rejection(response, endpoint, body) {
  const seconds = Number(response.headers.get("retry-after")) || 0;
  return new CairnError(body?.error ?? `HTTP ${response.status} from ${endpoint}`, {
    code: body?.code ?? "",
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? "",
    endpoint,
    retryAfter: Math.max(seconds * 1000, body?.retry_after_ms ?? 0),
    body,
  });
}
