/** What WhatsApp calls people. Security: nothing in another form becomes part of a request. */

/** The number of a phone, as digits with the code of the country. */
export function isPhoneNumber(id: string): boolean {
  return /^\d{5,20}$/.test(id);
}

/** The id of somebody who has a user name and hides the number, such as `US.13491208655302741918`. Only this business knows them by it. */
export function isHiddenPerson(id: string): boolean {
  return /^[A-Z]{2}(?:\.[A-Z]{1,10})?\.[A-Za-z0-9]{1,128}$/.test(id);
}
