package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// bareKey makes this program a bare client, in a process of its own so that
// its processor time is told apart. Its value is the number of conversations.
const bareKey = "HERMES_BENCH_BARE"

// sendBare lets a bare client send the bodies in a file, in turn, as often as
// there were conversations, and tells the processor time that it took.
func sendBare(ctx context.Context, url, bodies string, talks int) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, url, bodies)
	cmd.Env = append(os.Environ(), bareKey+"="+strconv.Itoa(talks))
	text, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("bare client: %w\n%s", err, text)
	}
	return time.ParseDuration(string(text))
}

// beBare is the whole life of the bare client: the number of conversations is
// told by the environment, the rest by the arguments. It prints the processor
// time of what it sent.
func beBare(talks string) {
	n, err := strconv.Atoi(talks)
	if err == nil && len(os.Args) != 3 {
		err = fmt.Errorf("%d arguments", len(os.Args)-1)
	}
	if err == nil {
		err = bare(context.Background(), os.Args[1], os.Args[2], n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func bare(ctx context.Context, url, path string, talks int) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var bodies [][]byte
	if err := json.Unmarshal(text, &bodies); err != nil {
		return err
	}
	before := processorTime()
	if err := sendAll(ctx, url, bodies, talks); err != nil {
		return err
	}
	fmt.Print(processorTime() - before)
	return nil
}

func sendAll(ctx context.Context, url string, bodies [][]byte, talks int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: talkWorkers}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(talkWorkers)
	for range talks {
		group.Go(func() error {
			for _, body := range bodies {
				if err := post(ctx, client, url, bytes.NewReader(body)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// processorTime is what this process has taken so far.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // of a bad argument alone
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
