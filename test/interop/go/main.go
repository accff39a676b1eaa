// Command interop is the common server of the interop suite, and a client told what to do, on the Go SDK:
//
//	interop serve ID stdio|http|sse
//	interop connect http|sse|stdio TARGET legacy|modern
//
// TARGET is a URL, or a command as a JSON list.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// What the peers of all SDKs agree on.
const (
	note     = "Grüße, 世界 🌍"
	question = "What is your name?"
	root     = "file:///srv/interop"
)

var dot = []byte{0, 1, 254, 255}

func narrowed(typed string) []string {
	var names []string
	for _, name := range []string{"Ada", "Adèle", "Grace"} {
		if strings.HasPrefix(name, typed) {
			names = append(names, name)
		}
	}
	return names
}

var stdout sync.Mutex

// say writes one JSON line.
func say(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	stdout.Lock()
	defer stdout.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

// endWithStdin ends the process when its parent closes stdin or is gone.
func endWithStdin() {
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// A command is one JSON line that comes on stdin.
type command struct {
	ID        int               `json:"id"`
	Op        string            `json:"op"`
	Name      string            `json:"name"`
	Arguments json.RawMessage   `json:"arguments"`
	URI       string            `json:"uri"`
	URIs      []string          `json:"uris"`
	Ref       map[string]string `json:"ref"`
	Value     string            `json:"value"`
}

// commands hands over the lines of stdin until it ends.
func commands(each func(command)) error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var given command
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			return err
		}
		each(given)
	}
	return lines.Err()
}

func main() {
	ctx := context.Background()
	err := errors.New("usage: interop serve ID CARRIER, or interop connect CARRIER TARGET ERA")
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "serve":
		err = serve(ctx, args[1], args[2])
	case len(args) == 4 && args[0] == "connect":
		err = connect(ctx, args[1], args[2], args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
