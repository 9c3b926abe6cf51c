package simulated

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRateLimitTellsWhenToComeBack(t *testing.T) {
	server := newServer(t, Options{RateLimit: 2, Stats: true})
	now := time.Unix(1000, 0)
	server.limit.now = func() time.Time { return now }
	client := &http.Client{Transport: Transport(server)}
	statuses := func() (list []int) {
		for range 3 {
			resp, err := client.Post(chatURL, "application/json", strings.NewReader(ask("Hello", "")))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			list = append(list, resp.StatusCode)
			if resp.StatusCode == http.StatusTooManyRequests && (resp.Header.Get("Retry-After") != "1" || resp.Header.Get("retry-after-ms") != "500") {
				t.Errorf("headers %v", resp.Header)
			}
		}
		return list
	}
	want := []int{200, 200, 429}
	for range 2 {
		for i, got := range statuses() {
			if got != want[i] {
				t.Errorf("request %d: status %d", i, got)
			}
		}
		now = now.Add(time.Second)
	}
	if st := server.Stats(); st.RateLimited != 2 || st.Answered != 4 {
		t.Errorf("stats %+v", st)
	}
}

func TestFailuresAreDrawnFromSeedTurnAndAttempt(t *testing.T) {
	draws := func(o Options) (list []fault) {
		for i := range 400 {
			k := (&request{prompt: "p", turn: i / 2}).key()
			list = append(list, o.draw(k, i%2))
		}
		return list
	}
	a, b, other := draws(Options{Fail: 0.3, Seed: 1}), draws(Options{Fail: 0.3, Seed: 1}), draws(Options{Fail: 0.3, Seed: 2})
	counts := map[fault]int{}
	same := 0
	for i := range a {
		counts[a[i]]++
		if a[i] != b[i] {
			t.Fatalf("draw %d differs", i)
		}
		if a[i] == other[i] {
			same++
		}
	}
	if counts[serverError] < 30 || counts[reset] < 30 || counts[noFault] < 200 || same == len(a) {
		t.Errorf("draws %v, %d as with another seed", counts, same)
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	var a attempts
	for i := range mostAttempts + 10 {
		a.fail((&request{turn: i}).key())
	}
	if n := len(a.failed); n != mostAttempts {
		t.Errorf("%d are remembered", n)
	}
}

func TestOptionsAreFlags(t *testing.T) {
	o := Options{Stats: true}
	fs := flag.NewFlagSet("simulate", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.Register(fs)
	args := strings.Fields("--latency=5ms --jitter=1ms --fail=0.5 --rate_limit=10 --seed=7")
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	want := Options{5 * time.Millisecond, time.Millisecond, 0.5, 10, 7, true}
	if o != want {
		t.Errorf("options %+v", o)
	}
}

func TestBadOptionsAreNamed(t *testing.T) {
	zero := 0.0
	for name, o := range map[string]Options{
		"latency:":    {Latency: -1},
		"jitter:":     {Jitter: -1},
		"fail:":       {Fail: 1.5},
		"fail: NaN":   {Fail: zero / zero},
		"rate_limit:": {RateLimit: -1},
	} {
		if _, err := New(o); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
