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
  #dropped = 0;

  add(connection: Connection): void {
    this.#open.add(connection);
    connection.once('close', () => {
      this.#open.delete(connection);
      this.#received += connection.bytesRead;
      this.#sent += connection.bytesWritten;
    });
  }

  /** One was closed because there were too many. */
  drop(): void {
    this.#dropped += 1;
  }

  get dropped(): number {
    return this.#dropped;
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
