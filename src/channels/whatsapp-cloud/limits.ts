const mebibyte = 1024 * 1024;

/** Characters of a message, also of the text above a list of answers. */
export const maxText = 4096;
export const maxCaption = 1024;
/** The text above reply buttons. */
export const maxButtonText = 1024;
export const maxReplyButtons = 3;
export const maxReplyTitle = 20;
export const maxRows = 10;
export const maxRowTitle = 24;

/** WhatsApp takes documents of 100 MB; a file is in memory while it is sent. */
export const maxFileBytes = 32 * mebibyte;
export const maxImageBytes = 5 * mebibyte;
/** The largest that people can send: a document of 100 MB. */
export const maxIncomingBytes = 100 * 1000 * 1000;
