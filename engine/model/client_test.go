package model

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCompleteReturnsReply(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.URL.Path + " " + string(body)
		io.WriteString(w, `{"id":"x","choices":[{"message":{"content":"<think>hm</think>42"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}`)
	}))
	defer server.Close()
	e, err := Resolve(server.URL + "/v1/")
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Endpoint: e, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Complete(context.Background(), NewConversation(Params{Model: "m"}, "6 < 7?"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Content != "42" || r.Reasoning != "hm" || r.Usage.PromptTokens != 3 || r.Tries != 1 {
		t.Errorf("got %+v", r)
	}
	if want := `/v1/chat/completions {"model":"m","messages":[{"role":"user","content":"6 < 7?"}]}`; got != want {
		t.Errorf("got request  %s\nwant request %s", got, want)
	}
}
