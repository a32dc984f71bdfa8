// Runs inside a namespace: sends to PROTOCOL ADDRESS PORT each further word as a line once something has arrived, and prints all that arrives. Ends
// when all is answered, unless the last word is `stay`, or the connection does.
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';

const [protocol, address, port, ...words] = process.argv.slice(2);

if (protocol === 'udp') {
  const socket = createSocket('udp4');
  socket.connect(Number(port), address, () => socket.send(words.join(' ')));
  socket.on('error', (error) => finish(error.code));
  socket.on('message', (data) => finish(data.toString()));
} else {
  const socket = connect(Number(port), address);
  socket.on('error', (error) => finish(error.code));
  socket.on('end', () => finish('end'));
  socket.on('data', (data) => {
    process.stdout.write(data);
    const next = words.shift();
    if (next === undefined) process.exit();
    if (next !== 'stay') socket.write(`${next}\n`);
  });
}

function finish(text) {
  process.stdout.write(`${text}\n`);
  process.exit();
}
