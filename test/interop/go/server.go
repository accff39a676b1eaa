package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type none struct{}

type greeting struct {
	Greeting string `json:"greeting"`
	Times    int    `json:"times"`
}

type counted struct {
	Counted int `json:"counted"`
}

type hung struct {
	Begun     int64 `json:"begun"`
	Cancelled int64 `json:"cancelled"`
}

type answer struct {
	Answer string `json:"answer"`
}

// serve runs the common server over one carrier. It speaks both eras, but for sse.
func serve(ctx context.Context, id, carrier string) error {
	server := newServer(id)
	if carrier == "stdio" {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	get := func(*http.Request) *mcp.Server { return server }
	handler := http.NewServeMux()
	if carrier == "sse" {
		handler.Handle("/sse", mcp.NewSSEHandler(get, nil))
	} else {
		// With sessions it speaks the old era only, without them it cannot ask clients of that era.
		handler.Handle("/mcp", mcp.NewStreamableHTTPHandler(get, nil))
		handler.Handle("/stateless", mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true}))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go endWithStdin()
	say(map[string]any{"port": listener.Addr().(*net.TCPAddr).Port})
	return http.Serve(listener, handler)
}

func newServer(id string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "interop-" + id, Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions:       fmt.Sprintf("The common server, %s.", id),
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addTools(server, id)
	addQuestions(server)
	addContent(server, id)
	return server
}

func addTools(server *mcp.Server, id string) {
	type person struct {
		Name  string `json:"name"`
		Times int    `json:"times,omitempty"`
	}
	add(server, "greet", "Greets, structured.", func(_ context.Context, _ *mcp.CallToolRequest, in person) (greeting, error) {
		return greeting{Greeting: "Hello, " + in.Name + "!", Times: max(in.Times, 1)}, nil
	})
	type failure struct {
		Reason string `json:"reason"`
	}
	add(server, "fail", "Fails as a tool does.", func(_ context.Context, _ *mcp.CallToolRequest, in failure) (greeting, error) {
		return greeting{}, errors.New(in.Reason)
	})
	type goal struct {
		To int `json:"to"`
	}
	add(server, "count", "Counts, with progress.", func(ctx context.Context, req *mcp.CallToolRequest, in goal) (counted, error) {
		for at := 1; at <= in.To; at++ {
			if err := progress(ctx, req, at, in.To, fmt.Sprintf("%d of %d", at, in.To)); err != nil {
				return counted{}, err
			}
		}
		return counted{Counted: in.To}, nil
	})
	var begun, cancelled atomic.Int64
	add(server, "hang", "Goes on until it is cancelled.", func(ctx context.Context, req *mcp.CallToolRequest, _ none) (counted, error) {
		begun.Add(1)
		if err := progress(ctx, req, 0, 1, "hanging"); err != nil {
			return counted{}, err
		}
		<-ctx.Done()
		cancelled.Add(1)
		return counted{}, ctx.Err()
	})
	add(server, "hangs", "How many calls of hang began, and how many were cancelled.", func(context.Context, *mcp.CallToolRequest, none) (hung, error) {
		return hung{Begun: begun.Load(), Cancelled: cancelled.Load()}, nil
	})
	type named struct {
		Name string `json:"name"`
	}
	add(server, "grow", "Adds a tool of that name.", func(_ context.Context, _ *mcp.CallToolRequest, in named) (answer, error) {
		add(server, in.Name, "Was added while the server ran.", func(context.Context, *mcp.CallToolRequest, none) (answer, error) {
			return answer{Answer: in.Name}, nil
		})
		return answer{Answer: in.Name}, nil
	})
	add(server, "touch", "Says that the note has changed.", func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (answer, error) {
		changed := &mcp.ResourceUpdatedNotificationParams{URI: "note://" + id + "/static"}
		return answer{Answer: "touched"}, server.ResourceUpdated(ctx, changed)
	})
	type text struct {
		Text string `json:"text"`
	}
	add(server, "chat", "Sends a log message.", func(ctx context.Context, req *mcp.CallToolRequest, in text) (answer, error) {
		message := &mcp.LoggingMessageParams{Level: "warning", Data: in.Text, Logger: id}
		return answer{Answer: in.Text}, req.Session.Log(ctx, message)
	})
}

// addQuestions adds tools that ask the client. The SDK carries the questions in the way of the era.
func addQuestions(server *mcp.Server) {
	form := &jsonschema.Schema{
		Type:       "object",
		Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}},
		Required:   []string{"name"},
	}
	hello := &mcp.CreateMessageParams{
		MaxTokens: 10,
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Say hello."}}},
	}
	ask(server, "ask_user", "Asks the user for a name.", &mcp.ElicitParams{Mode: "form", Message: question, RequestedSchema: form},
		func(given mcp.InputResponse) string {
			result, ok := given.(*mcp.ElicitResult)
			if !ok {
				return fmt.Sprintf("%T", given)
			}
			return fmt.Sprint(result.Content["name"])
		})
	ask(server, "ask_model", "Asks the model of the client.", hello, func(given mcp.InputResponse) string {
		switch result := given.(type) {
		case *mcp.CreateMessageResult:
			return textOf(result.Content)
		case *mcp.CreateMessageWithToolsResult:
			return textOf(result.Content...)
		}
		return fmt.Sprintf("%T", given)
	})
	ask(server, "ask_roots", "Asks for the roots of the client.", &mcp.ListRootsParams{}, func(given mcp.InputResponse) string {
		result, ok := given.(*mcp.ListRootsResult)
		if !ok {
			return fmt.Sprintf("%T", given)
		}
		var uris []string
		for _, each := range result.Roots {
			uris = append(uris, each.URI)
		}
		return strings.Join(uris, " ")
	})
}

func addContent(server *mcp.Server, id string) {
	welcome := &mcp.Prompt{
		Name:        "welcome",
		Description: "Welcomes somebody.",
		Arguments:   []*mcp.PromptArgument{{Name: "name", Required: true}},
	}
	server.AddPrompt(welcome, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		content := &mcp.TextContent{Text: "Welcome, " + req.Params.Arguments["name"] + "!"}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: content}}}, nil
	})
	base := "note://" + id + "/"
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		contents := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain"}
		switch rest := strings.TrimPrefix(req.Params.URI, base); {
		case rest == "static":
			contents.Text = note
		case rest == "dot":
			contents.MIMEType, contents.Blob = "application/octet-stream", dot
		default:
			contents.Text = "Signed: " + strings.TrimPrefix(rest, "by/")
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
	}
	server.AddResource(&mcp.Resource{URI: base + "static", Name: "static", MIMEType: "text/plain"}, read)
	server.AddResource(&mcp.Resource{URI: base + "dot", Name: "dot", MIMEType: "application/octet-stream"}, read)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: base + "by/{name}", Name: "by", MIMEType: "text/plain"}, read)
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	kind := "template"
	if req.Params.Ref.Type == "ref/prompt" {
		kind = "prompt"
	}
	values := narrowed(req.Params.Argument.Value)
	for at, name := range values {
		values[at] = fmt.Sprintf("%s (%s)", name, kind)
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
}

func add[In, Out any](server *mcp.Server, name, description string, run func(context.Context, *mcp.CallToolRequest, In) (Out, error)) {
	tool := &mcp.Tool{Name: name, Description: description}
	mcp.AddTool(server, tool, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := run(ctx, req, in)
		return nil, out, err
	})
}

// ask adds a tool that answers with what the client said to one question.
func ask(server *mcp.Server, name, description string, asked mcp.InputRequest, read func(mcp.InputResponse) string) {
	tool := &mcp.Tool{Name: name, Description: description, InputSchema: &jsonschema.Schema{Type: "object"}}
	server.AddTool(tool, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		given, ok := req.Params.InputResponses["asked"]
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"asked": asked}, RequestState: name}, nil
		}
		structured, err := json.Marshal(answer{Answer: read(given)})
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: string(structured)}},
			StructuredContent: json.RawMessage(structured),
		}, nil
	})
}

func progress(ctx context.Context, req *mcp.CallToolRequest, at, of int, message string) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(at), Total: float64(of), Message: message,
	})
}

func textOf(content ...mcp.Content) string {
	var texts []string
	for _, each := range content {
		if text, ok := each.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "")
}
