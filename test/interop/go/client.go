package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const legacyVersion = "2025-11-25"

// connect carries out commands as a client of one era until stdin ends.
func connect(ctx context.Context, carrier, target, era string) error {
	transport, err := transportTo(carrier, target)
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go", Version: "1.0.0"}, clientOptions())
	client.AddRoots(&mcp.Root{URI: root, Name: "interop"})
	var options mcp.ClientSessionOptions
	if era == "legacy" {
		options.ProtocolVersion = legacyVersion
	}
	session, err := client.Connect(ctx, transport, &options)
	if err != nil {
		return err
	}
	hello := session.InitializeResult()
	say(map[string]any{
		"version": hello.ProtocolVersion, "server": hello.ServerInfo,
		"capabilities": hello.Capabilities, "instructions": hello.Instructions,
	})
	running := calls{cancels: map[int]context.CancelFunc{}}
	var under sync.WaitGroup
	err = commands(func(given command) {
		if given.Op == "cancel" {
			running.cancel(given.ID)
			return
		}
		called := running.begin(ctx, given.ID)
		under.Go(func() {
			defer running.cancel(given.ID)
			result, err := obey(called, session, given)
			if err != nil {
				say(map[string]any{"id": given.ID, "error": describe(err)})
			} else {
				say(map[string]any{"id": given.ID, "result": result})
			}
		})
	})
	running.cancelAll()
	under.Wait()
	return errors.Join(err, session.Close())
}

func transportTo(carrier, target string) (mcp.Transport, error) {
	switch carrier {
	case "http":
		return &mcp.StreamableClientTransport{Endpoint: target}, nil
	case "sse":
		return &mcp.SSEClientTransport{Endpoint: target}, nil
	}
	var command []string
	if err := json.Unmarshal([]byte(target), &command); err != nil {
		return nil, err
	}
	return &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil
}

func clientOptions() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			say(map[string]any{"method": "elicitation/create", "params": req.Params})
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			say(map[string]any{"method": "sampling/createMessage", "params": req.Params})
			text := &mcp.TextContent{Text: "Hello from the model"}
			return &mcp.CreateMessageResult{Role: "assistant", Content: text, Model: "m", StopReason: "endTurn"}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			say(map[string]any{"method": "notifications/tools/list_changed"})
		},
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			say(map[string]any{"method": "notifications/resources/updated", "params": req.Params})
		},
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			say(map[string]any{"method": "notifications/message", "params": req.Params})
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			// The token is the id of the command.
			say(map[string]any{"method": "notifications/progress", "call": req.Params.ProgressToken, "params": req.Params})
		},
	}
}

func obey(ctx context.Context, session *mcp.ClientSession, given command) (any, error) {
	switch given.Op {
	case "tools":
		return listed("tools", session.Tools(ctx, nil))
	case "prompts":
		return listed("prompts", session.Prompts(ctx, nil))
	case "resources":
		return listed("resources", session.Resources(ctx, nil))
	case "templates":
		return listed("resourceTemplates", session.ResourceTemplates(ctx, nil))
	case "call":
		params := &mcp.CallToolParams{Meta: mcp.Meta{}, Name: given.Name, Arguments: given.Arguments}
		params.SetProgressToken(given.ID)
		if session.InitializeResult().ProtocolVersion > legacyVersion {
			params.Meta[mcp.MetaKeyLogLevel] = "info"
		}
		return session.CallTool(ctx, params)
	case "read":
		return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: given.URI})
	case "prompt":
		var arguments map[string]string
		if err := json.Unmarshal(given.Arguments, &arguments); err != nil {
			return nil, err
		}
		return session.GetPrompt(ctx, &mcp.GetPromptParams{Name: given.Name, Arguments: arguments})
	case "complete":
		ref := &mcp.CompleteReference{Type: "ref/resource", URI: given.Ref["uri"]}
		if name, ok := given.Ref["name"]; ok {
			ref = &mcp.CompleteReference{Type: "ref/prompt", Name: name}
		}
		argument := mcp.CompleteParamsArgument{Name: given.Name, Value: given.Value}
		return session.Complete(ctx, &mcp.CompleteParams{Ref: ref, Argument: argument})
	case "listen":
		// Changes of lists it hears since it connected.
		for _, uri := range given.URIs {
			if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
				return nil, err
			}
		}
		return map[string]any{}, nil
	case "level":
		return map[string]any{}, session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"})
	}
	return nil, fmt.Errorf("no operation %q", given.Op)
}

func listed[T any](member string, items iter.Seq2[*T, error]) (map[string]any, error) {
	all := []*T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return map[string]any{member: all}, nil
}

func describe(err error) map[string]any {
	told := map[string]any{"message": err.Error()}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		told["code"] = rpc.Code
	}
	return told
}

// calls are the commands under way, each with what cancels it.
type calls struct {
	mu      sync.Mutex
	cancels map[int]context.CancelFunc
}

func (c *calls) begin(ctx context.Context, id int) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancels[id] = cancel
	return ctx
}

func (c *calls) cancel(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel, ok := c.cancels[id]; ok {
		cancel()
		delete(c.cancels, id)
	}
}

func (c *calls) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.cancels {
		cancel()
	}
}
