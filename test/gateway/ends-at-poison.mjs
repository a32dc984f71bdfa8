// Loaded before the program: it ends at once when the model is to be asked about a message that says poison and nothing after it.
const { fetch } = globalThis;

globalThis.fetch = async (address, request) => {
  const { messages = [] } = typeof request?.body === 'string' ? JSON.parse(request.body) : {};
  if (JSON.stringify(messages.at(-1) ?? '').includes('poison')) process.exit(9);
  return await fetch(address, request);
};
