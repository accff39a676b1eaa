/** What a TCP connection says of itself. */
interface Connection {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  once(event: 'close', listener: () => void): unknown;
}

/** Bytes on the connections of clients, counted by the operating system's own counters: nothing is done for each message. */
export class Traffic {
  readonly #open = new Set<Connection>();
  #received = 0;
  #sent = 0;

  add(connection: Connection): void {
    this.#open.add(connection);
    connection.once('close', () => {
      this.#open.delete(connection);
      this.#received += connection.bytesRead;
      this.#sent += connection.bytesWritten;
    });
  }

  get connections(): number {
    return this.#open.size;
  }

  get bytes(): { readonly received: number; readonly sent: number } {
    let received = this.#received;
    let sent = this.#sent;
    for (const { bytesRead, bytesWritten } of this.#open) {
      received += bytesRead;
      sent += bytesWritten;
    }
    return { received, sent };
  }
}
