import {
  type AuthenticationCreds,
  type BinaryNode,
  Curve,
  encodeSignedDeviceIdentity,
  hmacSign,
  proto,
  WA_ADV_ACCOUNT_SIG_PREFIX,
} from 'baileys';

/** What a phone signs when it links a device. */
export function signedIdentity(phone: AuthenticationCreds, identity: Uint8Array): proto.IADVSignedDeviceIdentity {
  const details = proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp: Math.floor(Date.now() / 1000), keyIndex: 1 }).finish();
  const { private: key, public: accountSignatureKey } = phone.signedIdentityKey;
  const accountSignature = Curve.sign(key, Buffer.concat([WA_ADV_ACCOUNT_SIG_PREFIX, details, identity]));
  return { details, accountSignatureKey, accountSignature };
}

/** What WhatsApp tells the device that was linked. `secret` is in the QR code. */
export function pairSuccess(phone: AuthenticationCreds, identity: Uint8Array, secret: string, jid: string, lid: string): BinaryNode {
  const details = encodeSignedDeviceIdentity(signedIdentity(phone, identity), true);
  const hmac = hmacSign(details, Buffer.from(secret, 'base64'));
  const signed = proto.ADVSignedDeviceIdentityHMAC.encode({ details, hmac }).finish();
  return {
    tag: 'iq',
    attrs: { from: '@s.whatsapp.net', type: 'set', id: 'pair-success' },
    content: [
      {
        tag: 'pair-success',
        attrs: {},
        content: [
          { tag: 'device-identity', attrs: {}, content: signed },
          { tag: 'device', attrs: { jid, lid } },
          { tag: 'platform', attrs: { name: 'android' } },
        ],
      },
    ],
  };
}
