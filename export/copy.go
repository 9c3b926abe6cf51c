package export

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
)

const (
	flagOut    = "out"
	flagFormat = "format"
)

// CopyIntro and CopyFlags are for the help of a verb that makes a Copy.
const CopyIntro = `Renders the files of a run into another folder, also from an unfinished run
and while it goes on. The run's own files stay as they are.

Usage:
  hermes-batch export --run_name=NAME | --store=FILE --out=DIR [flags]
`

// CopyFlags are the flags of a Copy in the order of the help.
var CopyFlags = []string{flagOut, flagFormat, flagReasoning, flagInvalid}

// Copy is an export: the files of a run rendered into a folder of their own.
// The process that has the store runs Stream, this one writes what comes.
type Copy struct {
	Out  string   // folder for the files: absent, empty, or of an earlier export of the same run
	Args []string // of Stream: --format, --keep_without_reasoning, --keep_invalid_tools, each with =VALUE
}

// RegisterCopy puts the flags of an export on fs and returns what they set.
func RegisterCopy(fs *flag.FlagSet) *Copy {
	c := &Copy{}
	fs.StringVar(&c.Out, flagOut, "", "`folder` for the files: a new one, an empty one, or that of an earlier export of this run")
	fs.Func(flagFormat, "`format`: hermes (the JSONL and JSON files) or parquet (trajectories.parquet alone); both if it is not given", func(s string) error {
		c.pass(flagFormat, s)
		return checkFormat(s)
	})
	for name, about := range map[string]string{flagReasoning: aboutReasoning, flagInvalid: aboutInvalid} {
		fs.BoolFunc(name, about+"; as in the run's last session if it is not given", func(s string) error {
			on, err := strconv.ParseBool(s)
			c.pass(name, strconv.FormatBool(on))
			return err
		})
	}
	return c
}

func (c *Copy) pass(name, value string) { c.Args = append(c.Args, "--"+name+"="+value) }

// Write makes the export: ask has to make the process that has the store run
// Stream with c.Args, and pass on what that writes. Until all of it is there,
// no file in the folder changes. What came of it is written to w.
func (c *Copy) Write(w io.Writer, ask func(io.Writer) error) error {
	if c.Out == "" {
		return fmt.Errorf("%w: --out is required: the folder for the files", ErrRefused)
	}
	in, out := io.Pipe()
	asked := make(chan error, 1)
	go func() {
		err := ask(out)
		out.CloseWithError(err)
		asked <- err
	}()
	rep, err := receive(in, c.Out)
	in.CloseWithError(errStopped)
	if answer := <-asked; err == nil || errors.Is(err, answer) {
		err = answer
	}
	if err != nil {
		return err
	}
	if !rep.Statistics.Finished {
		fmt.Fprintf(w, "UNFINISHED    %s not finished; the files hold what there is so far\n",
			plural(rep.Counts.Pending, "prompt is", "prompts are"))
	}
	return Summary(w, rep)
}

// errStopped tells the sender that nobody reads on.
var errStopped = errors.New("the export was given up")
