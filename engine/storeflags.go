package engine

import (
	"errors"
	"flag"
	"io/fs"
	"os"

	"hermes-batch/engine/flags"
)

// StoreGroups order the flags of verbs that read one run's store.
var StoreGroups = []flags.Group{{Title: "Run", Names: []string{"run_name", "store", "deep"}}}

// RegisterStore puts the flags on set that name the store of an existing run,
// --run_name and --store. What it returns gives the store's path once they are
// parsed, or an error that satisfies ErrUsage.
func RegisterStore(set *flag.FlagSet) func() (string, error) {
	name := set.String("run_name", "", "`name` of the run")
	file := set.String("store", "", "`file` of the store (run.db), in place of --run_name")
	return func() (string, error) {
		path, err := namedStore(*name, *file)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", Usagef("there is no such run: %s does not exist", path)
		}
		return path, nil
	}
}

func namedStore(name, file string) (string, error) {
	switch {
	case file != "" && name != "":
		return "", Usagef("--run_name and --store are two ways to name a run: use one")
	case file != "":
		return file, nil
	case name == "":
		return "", Usagef("--run_name is required (or --store FILE)")
	}
	folder, err := runFolder(name)
	return folder.Store(), err
}
