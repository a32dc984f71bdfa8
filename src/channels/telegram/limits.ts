const mebibyte = 1024 * 1024;

/** The visible text of a message, in UTF-16 units. */
export const mostVisibleText = 4096;
export const mostVisibleCaption = 1024;
/** Of the source; less, because the columns of a table take more room than their source. */
export const mostText = 4000;
export const mostCaption = 1000;

/** The largest files a bot may send and receive. */
export const maxFileBytes = 50 * mebibyte;
export const mostIncomingBytes = 20 * mebibyte;
