import { useId, useState } from 'preact/hooks';

interface SignInProps {
  /** Why what was tried is not enough; undefined: nothing was tried. */
  readonly refused: string | undefined;
  readonly enter: (token: string, keep: boolean) => void;
}

/** Asks for a key or a token. */
export function SignIn({ refused, enter }: SignInProps) {
  const [token, setToken] = useState('');
  const [keep, setKeep] = useState(false);
  const id = useId();
  return (
    <main class="sign-in">
      <h1>Patchbay</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== '') {
            enter(token.trim(), keep);
          }
        }}
      >
        <p id={`${id}-why`} class="quiet">
          For operators of this gateway. A key or token goes with each request, and nowhere else.
        </p>
        {refused !== undefined && (
          <p class="alert" role="alert">
            {refused}
          </p>
        )}
        <label for={`${id}-token`}>Key or token</label>
        <input
          id={`${id}-token`}
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
          aria-describedby={`${id}-why`}
          required
        />
        <label class="check">
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
          Keep it until this tab is closed
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
    </main>
  );
}
