#!/bin/bash
# Strong and weak scaling on the GPUs of one node, as a Slurm job. Edit the lines marked EDIT, then
#
#   cd inputs/scaling && sbatch slurm_one_node.sh
#
# What each line of the table at the end of the job's output says is in the run.json of its folder.
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
results=$PWD/scaling_${SLURM_JOB_ID:-$$}  # EDIT: a folder to make
cores=8                             # EDIT: cores of a rank
repeats=3                           # EDIT: runs of each kind; the table has their median
overrides=(parallel.device=cuda)    # EDIT: key=value for every run

set -euo pipefail
# shellcheck source=inputs/scaling/runs.sh
source "$decks/runs.sh"

# Ranks, program, arguments.
start() {
  srun --nodes=1 --ntasks="$1" --cpus-per-task="$cores" --cpu-bind=cores "${@:2}"  # EDIT: or mpirun -n "$1" "${@:2}"
}

strong strong_1024.yaml 1 2 4 8     # EDIT: rank counts
strong strong_512.yaml 1 2 4 8      # EDIT
weak weak_1024.yaml 1 2 4 8         # EDIT
weak weak_512.yaml 1 2 4 8          # EDIT

summary
