const mebibyte = 1024 * 1024;

/** The visible text of a message, in UTF-16 units. */
export const maxVisibleText = 4096;
export const maxVisibleCaption = 1024;
/** Of the source; less, because the columns of a table take more room than their source. */
export const maxTextLength = 4000;
export const maxCaptionLength = 1000;

/** The largest files a bot may send and receive. */
export const maxFileBytes = 50 * mebibyte;
export const maxIncomingBytes = 20 * mebibyte;
