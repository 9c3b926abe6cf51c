package engine

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"hermes-batch/engine/model"
)

// inProcess serves requests without a network.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// The embedded model needs no key, no network and no server, unless the user
// names another place where a model of that name is served.
func TestEmbeddedModel(t *testing.T) {
	b := newBench(t, echoes)
	inside := newScript(t, echoes)
	b.deps.Transport = inProcess{inside.Config.Handler}
	b.deps.Getenv = func(string) string { return "" }
	b.prompts("a")
	b.mustRun(func(o *Options) { o.Model, o.BaseURL = simulatedModel, model.OpenRouterURL })
	b.wantEnds(answered)
	inside.wantCount(1)
	if out := b.outcome(0); out.Model != simulatedModel {
		t.Errorf("the outcome says model %q", out.Model)
	}
	b.mustRun(func(o *Options) { o.Model, o.RunName = simulatedModel, "other" })
	inside.wantCount(1)
	b.model.wantCount(1)
}
