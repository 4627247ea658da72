#!/bin/bash
# Strong and weak scaling on the GPUs of one node, as a Slurm job. Edit the lines marked EDIT, then
#
#   cd inputs/scaling && sbatch slurm_one_node.sh
#
# Each series is a study of its deck (isotherm study, scaling:): the job's output has its tables, its folder has all files.
#SBATCH --job-name=isotherm-scaling
#SBATCH --output=%x-%j.txt
#SBATCH --exclusive
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=8         # EDIT: GPUs of a node; a rank each
#SBATCH --gpus-per-node=8           # EDIT: GPUs of a node; every rank sees all of them
#SBATCH --cpus-per-task=8           # EDIT: cores of a node divided by its GPUs
#SBATCH --time=00:30:00             # EDIT
#SBATCH --partition=gpu             # EDIT
#SBATCH --account=project           # EDIT

#module load cuda openmpi           # EDIT: what the program was built with

isotherm=isotherm                   # EDIT: the program
decks=${SLURM_SUBMIT_DIR:-$PWD}     # EDIT: the folder of this script
results=$PWD/scaling_${SLURM_JOB_ID:-$$}  # EDIT: a new folder, or that of an earlier job, to finish its cases
repeats=3                           # EDIT: runs on each count; the median time counts
overrides=(parallel.device=cuda)    # EDIT: key=value for every run
# The launcher of a run: 8 cores for each rank.
launcher="srun --nodes=1 --ntasks={ranks} --cpus-per-task=8 --cpu-bind=cores"  # EDIT: or "mpirun -n {ranks}"

set -uo pipefail
failed=()

# Kind, deck, counts of ranks.
series() {
  echo "== $2, $1 scaling on $3 ranks"
  "$isotherm" study "$decks/$2.yaml" "scaling={kind: $1, ranks: [$3], repeats: $repeats}" \
    "output.directory=$results/$2" "study.launcher=$launcher" "${overrides[@]}" || failed+=("$2")
}

series strong strong_1024 1,2,4,8   # EDIT: rank counts
series strong strong_512 1,2,4,8    # EDIT
series weak weak_1024 1,2,4,8       # EDIT
series weak weak_512 1,2,4,8        # EDIT

((${#failed[@]} == 0)) || { echo "failed: ${failed[*]}" >&2; exit 1; }
