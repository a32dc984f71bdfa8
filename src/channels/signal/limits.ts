const mebibyte = 1024 * 1024;

/** Of the source. What is more than 2,000 bytes travels as a file that apps show as text. */
export const maxTextLength = 4000;
/** Of what people see: the columns of a table take more room than their source. */
export const maxVisibleText = 6000;
/** Of one message. Signal does not document how many apps read; this is more than a text of this length should have. */
export const maxStyles = 250;

/** Signal takes 100 MB, but a file passes through memory as text here and in the daemon. */
export const maxFileBytes = 25 * mebibyte;
/** What a file of this size takes as Base64 in an answer. */
export const maxAnswerBytes = Math.ceil((maxFileBytes * 4) / 3) + mebibyte;
/** Messages come without their files. */
export const maxEventBytes = 4 * mebibyte;

/** Apps ignore what is edited more often, or later. */
export const maxEdits = 10;
export const maxEditAgeMs = 24 * 60 * 60 * 1000;
