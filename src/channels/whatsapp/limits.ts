const mebibyte = 1024 * 1024;

/** WhatsApp takes more, and then shows the beginning only. */
export const maxText = 4096;
export const maxCaption = 1024;
/** A reply repeats the beginning of what it replies to. */
export const maxQuote = 1000;
/** Files are encrypted in memory. */
export const maxFileBytes = 64 * mebibyte;
/** A larger picture is sent as a document. */
export const maxPictureBytes = 5 * mebibyte;
/** How long after it was sent a message may be edited. */
export const editableMs = 15 * 60 * 1000;
/** What was sent longer ago is not taken, as Telegram does it. */
export const maxAgeMs = 24 * 60 * 60 * 1000;
