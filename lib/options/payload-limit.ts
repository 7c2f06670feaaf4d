/** Bytes that a payload may have, unless the options say otherwise. */
export const defaultMaxPayloadBytes = 1_048_576;
