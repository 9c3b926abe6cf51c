package engine

import (
	"context"

	"hermes-batch/db"
)

// planPage is how many rows of the plan are looked at in one read.
const planPage = 1024

// feed hands out the prompts that are due, in the order of the dataset.
func (r *Run) feed(ctx context.Context, due chan<- db.Ordinal) error {
	page := make([]uint32, planPage)
	for from := 0; ; {
		n, err := r.store.PlanRows(from, page)
		if err != nil || n == 0 {
			return err
		}
		for _, index := range page[:n] {
			ord := db.MakeOrdinal(int(index), 0)
			if !r.progress.pending(ord) {
				continue
			}
			if err := checkDisk(r.folder.Dir); err != nil {
				r.stop.begin(err)
				return nil
			}
			select {
			case due <- ord:
			case <-r.stop.soft:
				return nil
			case <-ctx.Done():
				return nil
			}
		}
		from += n
	}
}
