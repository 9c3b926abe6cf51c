package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// modelCalls is how many model calls the prompts below take, which each run
// verifies by what the model counted.
const modelCalls = 3

// sum is a prompt for two dependent turns with the calculator, and an answer.
func sum(i int) string {
	return fmt.Sprintf("Calculate %d * %d, then add %d.", 17+i, 23+i%7, 5+i%11)
}

// commands is a prompt for two turns with the terminal, and an answer.
func commands(i int) string {
	return fmt.Sprintf("Run `echo one %d`, then run `echo two %d`.", i, i)
}

// question is a prompt that is answered at once.
func question(i int) string { return fmt.Sprintf("Who was person number %d in the list?", i) }

// writeDataset writes n prompts as JSONL, and returns the hash of the file.
func writeDataset(path string, n int, prompt func(int) string) (hash [32]byte, err error) {
	f, err := os.Create(path)
	if err != nil {
		return hash, err
	}
	digest := sha256.New()
	w := bufio.NewWriter(io.MultiWriter(f, digest))
	out := json.NewEncoder(w)
	for i := range n {
		if err := out.Encode(map[string]string{"prompt": prompt(i)}); err != nil {
			f.Close()
			return hash, err
		}
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return hash, err
	}
	return [32]byte(digest.Sum(nil)), f.Close()
}

const (
	datasetFile = "prompts.jsonl"
	runName     = "bench"
	outputs     = "data/" + runName // the run's folder
	storeFile   = outputs + "/run.db"
)

// arguments of a run over the dataset in its folder, with the model at url.
func arguments(url string, workers int, more ...string) []string {
	return append([]string{"--dataset_file=" + datasetFile, "--batch_size=100", "--run_name=" + runName, "--model=simulated",
		"--base_url=" + url, "--distribution=local", "--work_dir=work", fmt.Sprintf("--num_workers=%d", workers)}, more...)
}
