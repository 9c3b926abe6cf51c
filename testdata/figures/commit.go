package figures

import (
	"context"
	"os/exec"
	"strings"
)

// Commit names the commit of the tree that holds the folder in which this
// process runs, with a "+" if its sources were changed since; "" where git
// does not know.
func Commit(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return ""
	}
	commit := strings.TrimSpace(string(head))
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ":/*.go", ":/go.mod", ":/go.sum").Output()
	if err != nil || len(changed) > 0 {
		commit += "+"
	}
	return commit
}
