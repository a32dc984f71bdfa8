const mebibyte = 1024 * 1024;

/** The source of a message, in characters of Unicode; counted here in UTF-16 units, of which there are never fewer. */
export const maxContent = 2000;
/** The largest files that a bot may send everywhere, and that are fetched. */
export const maxFileBytes = 10 * mebibyte;
export const maxIncomingBytes = 25 * mebibyte;
