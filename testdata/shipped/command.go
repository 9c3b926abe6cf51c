package shipped

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Main is what the main function of these programs does once flags are read: it
// runs until the end or an interrupt, and exits with 1 after an error, which it
// prints behind the name.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Pick reads the pattern of a flag -only, which has to match one of the names at
// least.
func Pick(pattern string, names []string) (*regexp.Regexp, error) {
	only, err := regexp.Compile(pattern)
	if err == nil && !slices.ContainsFunc(names, only.MatchString) {
		err = fmt.Errorf("%q is none of %s", pattern, strings.Join(names, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	return only, nil
}

// Built is the name of a binary that Given has built.
const Built = "hermes-batch"

// Given returns the absolute path of the binary that a flag names, or of one
// that it builds in a folder if the flag names none. Programs run in folders of
// their own.
func Given(ctx context.Context, path, dir string) (string, error) {
	if path == "" {
		path = filepath.Join(dir, Built)
		if err := Build(ctx, path); err != nil {
			return "", err
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	_, err = os.Stat(path)
	return path, err
}
