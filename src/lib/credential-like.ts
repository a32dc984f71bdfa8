/** Names of variables that look as if a credential were in them. */
export const credentialLike = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|DSN|WEBHOOK|COOKIE|SESSION|PRIVATE/i;
