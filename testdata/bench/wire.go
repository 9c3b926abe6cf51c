package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"hermes-batch/testdata/figures"
)

// wire measures what a client without store, tools or output files comes to
// with as many requests: what part of the distance to the ideal is the model's
// and the machine's own.
func (b *bench) wire(ctx context.Context, l load) error {
	m, err := startModel(ctx, b.programs[0], l.latency)
	if err != nil {
		return err
	}
	defer m.stop()
	wall, err := ask(ctx, m.url, l.workers, l.prompts)
	if err != nil {
		return err
	}
	b.add(b.programs[0], fmt.Sprintf("Wire/workers=%d", l.workers), "wall ÷ ideal of a bare client, "+l.what(), "wall/ideal", figures.Less(), wall.Seconds()/l.trial().ideal().Seconds())
	return nil
}

// ask sends the first request of each prompt three times.
func ask(ctx context.Context, url string, workers, prompts int) (time.Duration, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: workers}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	began, due := time.Now(), make(chan int)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(due)
		for i := range prompts {
			select {
			case due <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range workers {
		group.Go(func() error {
			for i := range due {
				for range modelCalls {
					if err := askOnce(ctx, client, url, sum(i)); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return time.Since(began), err
}

func askOnce(ctx context.Context, client *http.Client, url, prompt string) error {
	body, err := json.Marshal(map[string]any{"model": "simulated", "messages": []map[string]string{{"role": "user", "content": prompt}}})
	if err != nil {
		return err
	}
	return post(ctx, client, url, bytes.NewReader(body))
}

func post(ctx context.Context, client *http.Client, url string, body io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the model answered %s", resp.Status)
	}
	return nil
}
