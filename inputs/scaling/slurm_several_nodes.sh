#!/bin/bash
# Strong and weak scaling over several nodes, as a Slurm job. Edit the lines marked EDIT, then
#
#   cd inputs/scaling && sbatch slurm_several_nodes.sh
#
# What each line of the table at the end of the job's output says is in the run.json of its folder.
#SBATCH --job-name=isotherm-scaling
#SBATCH --output=%x-%j.txt
#SBATCH --exclusive
#SBATCH --nodes=4                   # EDIT: the most that a run takes
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
gpus=8                              # EDIT: GPUs of a node
cores=8                             # EDIT: cores of a rank
repeats=3                           # EDIT: runs of each kind; the table has their median
overrides=(parallel.device=cuda)    # EDIT: key=value for every run

set -euo pipefail
# shellcheck source=inputs/scaling/runs.sh
source "$decks/runs.sh"

# Ranks, program, arguments. Full nodes, and ranks that follow each other on one of them: neighbours are near.
start() {
  local nodes=$((($1 + gpus - 1) / gpus))
  srun --nodes="$nodes" --ntasks="$1" --distribution=block --cpus-per-task="$cores" --cpu-bind=cores "${@:2}"  # EDIT: or mpirun -n "$1" "${@:2}"
}

strong strong_1024.yaml 8 16 32     # EDIT: rank counts
weak weak_1024.yaml 8 16 32         # EDIT
weak weak_512.yaml 8 16 32          # EDIT

summary
