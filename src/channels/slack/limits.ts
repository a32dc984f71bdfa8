const mebibyte = 1024 * 1024;

/** Slack takes longer messages, but does not edit them. */
export const maxText = 4000;
/** The text of a notification, as Slack writes it. */
export const maxFallback = 3900;
/** Slack takes files of a gigabyte; these are held in memory. */
export const maxFileBytes = 100 * mebibyte;
export const maxIncomingBytes = 50 * mebibyte;
